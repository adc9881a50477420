/**
 * Measures the round-trip time to a gateway through the tunnel. Each gateway answers DNS at its tunnel address. A
 * question about a name that it refuses at once needs no privilege, unlike an ICMP echo.
 */
import { randomInt } from "node:crypto";
import packet from "dns-packet";
import { forwardQuestion } from "./upstream.ts";

/** Nobody has this name (RFC 2606). */
const refusedName = "round-trip.gatehouse.invalid";

/** @returns milliseconds; undefined without an answer */
export type MeasureRoundTrip = (address: string) => Promise<number | undefined>;

/** @param address the tunnel address of a gateway */
export const measureRoundTrip: MeasureRoundTrip = async (address) => {
  const id = randomInt(0, 65_536);
  const question = packet.encode({ type: "query", id, questions: [{ name: refusedName, type: "A" }] });
  const startedAt = performance.now();
  const answer = await forwardQuestion(question, "udp", [address]);
  return answer === undefined ? undefined : Math.round((performance.now() - startedAt) * 10) / 10;
};
