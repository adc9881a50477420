/** Frames and limits that the links of gateways and devices share. Each frame is one JSON text. */
import { closedObject, oneOf } from "@gatehouse/contract/schema";
import Type, { type Static } from "typebox";

export const heartbeatIntervalMs = 10_000;
/** Without a heartbeat for this long, a gateway is OFFLINE (API specification, "Status transitions"). */
export const heartbeatTimeoutMs = 30_000;

/** The longest round-trip time that a heartbeat reports, in milliseconds. */
export const longestRoundTripMs = 600_000;

/** Messages longer than this are sent in parts. The unit is characters of JSON text. */
export const longestPart = 256 * 1024;
/** The longest message that a receiver reassembles, in characters. */
export const longestMessage = 64 * 1024 * 1024;

export const counter = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

export const HeartbeatAnswer = closedObject({ type: oneOf(["heartbeat-answer"]), sequence: counter });
export type HeartbeatAnswer = Static<typeof HeartbeatAnswer>;

/**
 * A part of a longer message. The parts of a message are sent in order; heartbeats and their answers may come between.
 */
export const Part = closedObject({
  type: oneOf(["part"]),
  /** Starts at 0. */
  index: Type.Integer({ minimum: 0, maximum: 100_000 }),
  isLast: Type.Boolean(),
  text: Type.String({ maxLength: longestPart }),
});
export type Part = Static<typeof Part>;
