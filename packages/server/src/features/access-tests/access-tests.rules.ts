/** What makes an access test sound, where its schema cannot tell. */

import { parseAddressText } from "@gatehouse/addresses/address-text";
import { peerAddress } from "@gatehouse/addresses/source-ips";
import type { ErrorCode } from "@gatehouse/contract/errors";
import type { AccessTest, AccessTestContext } from "@gatehouse/contract/records/access-test";
import { canonicalTimestamp } from "../../platform/timestamps.ts";

/** What is wrong with a test. */
export interface TestProblem {
  readonly code: Extract<ErrorCode, "invalid_combination" | "invalid_address">;
  /** JSON Pointer from the test on. */
  readonly pointer: string;
  readonly message: string;
}

type Reading<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly problem: TestProblem };

/** As a test is asked for. */
interface AskedTest {
  readonly subject: { readonly type: AccessTest["subject"]["type"]; readonly id?: string };
  readonly device: AccessTest["device"];
  readonly resource: Pick<AccessTest["resource"], "type" | "id" | "properties">;
}

/** What is wrong between the fields of a test. */
export function combinationProblem({ subject, device, resource }: AskedTest): TestProblem | undefined {
  if (subject.type === "everyone" && subject.id !== undefined) {
    return combination("/subject/id", "everyone has no id: leave it out");
  }
  if (subject.type !== "everyone" && subject.id === undefined) {
    return combination("/subject/id", `is needed: which ${subject.type} is meant`);
  }
  if (subject.type === "device" && device === "none") {
    return combination("/device", "the test is about a device: it cannot be asked without one");
  }
  const { protocol, port } = resource.properties ?? {};
  if (port !== undefined && (protocol === undefined || protocol === "ICMP")) {
    return combination("/resource/properties/port", "needs a protocol that has ports: TCP or UDP");
  }
  return undefined;
}

/** The address in the form in which it is stored: one host, no range. */
export function readTestAddress(text: string): Reading<string> {
  const reading = parseAddressText(text);
  if (!reading.ok) return { ok: false, problem: badAddress("/resource/id", reading.problem) };
  const { kind, text: canonical } = reading.value;
  if (kind === "ip" || kind === "host") return { ok: true, value: canonical };
  return { ok: false, problem: badAddress("/resource/id", "must be a single IP address or host name") };
}

/** The circumstances in the form in which they are stored. */
export function readTestContext({ sourceIp, country, time }: AccessTestContext): Reading<AccessTestContext> {
  if (sourceIp !== undefined && peerAddress(sourceIp) === undefined) {
    return { ok: false, problem: badAddress("/context/sourceIp", "must be an IP address") };
  }
  const moment = time === undefined ? undefined : canonicalTimestamp(time);
  return {
    ok: true,
    value: {
      ...(sourceIp === undefined ? {} : { sourceIp }),
      ...(country === undefined ? {} : { country }),
      ...(moment === undefined ? {} : { time: moment }),
    },
  };
}

function combination(pointer: string, message: string): TestProblem {
  return { code: "invalid_combination", pointer, message };
}

function badAddress(pointer: string, message: string): TestProblem {
  return { code: "invalid_address", pointer, message };
}
