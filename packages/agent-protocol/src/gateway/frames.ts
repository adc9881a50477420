/** The frames of the gateway link: see SPEC.md. Each frame is one JSON text. */

import { Endpoint, IpAddress, Moment, PublicKey } from "@gatehouse/contract/network-values";
import { closedObject, oneOf } from "@gatehouse/contract/schema";
import Type, { type Static } from "typebox";
import { ConfigurationName, Sha256, SigningKey } from "../link/envelope.ts";
import { counter, HeartbeatAnswer, longestRoundTripMs, Part } from "../link/frames.ts";
import { Challenge, KeyProof } from "../link/key-proof.ts";
import { SigningKeyHandovers } from "../link/signing-key-handover.ts";
import {
  ConfigurationContent,
  ConfigurationDifference,
  ConfigurationEnvelope,
  PeerKey,
  Port,
} from "./configuration.ts";

/** The path of the WebSocket, which requires the gateway's token as `Authorization: Bearer`. */
export const gatewayLinkPath = "/gateway/v1/link";
/** The subprotocols of the WebSocket, the latest first. The number is the version of the frames. */
export const gatewayLinkSubprotocols = ["gatehouse.gateway.3", "gatehouse.gateway.2", "gatehouse.gateway.1"] as const;

/** The configuration that a gateway enforces, with the fields that decide whether it needs another one. */
export const EnforcedConfiguration = closedObject({
  ...ConfigurationName.properties,
  /** The root of the content; zeros if it is not enforced completely, or has expired. */
  root: Sha256,
  /** 0 if it has expired: the gateway then drops all traffic. */
  expiresAt: Moment,
});
export type EnforcedConfiguration = Static<typeof EnforcedConfiguration>;

/** Why an agent does not enforce a configuration. */
export const failureReasons = [
  /** The configuration is for another gateway, or not signed by the tenant's key. */
  "forged",
  /** The configuration is not later than the latest enforced one. */
  "replayed",
  "expired",
  /** A format that this agent does not support. */
  "unknown_format",
  /** A difference based on another configuration than the enforced one. */
  "unknown_base",
  /** The content does not match the signed root. */
  "wrong_root",
  /** The content does not match the schema. */
  "malformed",
  /** The kernel or a program refused a change. Access that the configuration does not allow is removed if possible. */
  "not_applied",
] as const;
export type FailureReason = (typeof failureReasons)[number];

// From the agent ------------------------------------------------------------------------------------------------------

/** The first frame of a link. */
export const Hello = closedObject({
  type: oneOf(["hello"]),
  agentVersion: Type.String({ maxLength: 64 }),
  /** The key of the WireGuard interface. The private key never leaves the gateway. */
  publicKey: PublicKey,
  /** The endpoint for devices, if the agent knows it. */
  endpoint: Type.Optional(Endpoint),
  listenPort: Type.Optional(Port),
  /** The enforced configuration, or the latest one if that has expired; null: none yet. */
  enforces: Type.Unsafe<EnforcedConfiguration | null>({ ...EnforcedConfiguration, nullable: true }),
  /** The highest configuration format that the agent supports. */
  format: Type.Integer({ minimum: 1, maximum: 1_000_000 }),
});
export type Hello = Static<typeof Hello>;

/** The configuration is enforced. */
export const Applied = closedObject({ type: oneOf(["applied"]), configuration: ConfigurationName });
export type Applied = Static<typeof Applied>;

/** The configuration is not enforced. The previous one still is. */
export const Failed = closedObject({
  type: oneOf(["failed"]),
  configuration: ConfigurationName,
  reason: oneOf(failureReasons),
  /** The refused part and the reason, as text for people. */
  message: Type.String({ maxLength: 2000 }),
});
export type Failed = Static<typeof Failed>;

export const PeerReport = closedObject({
  peer: PeerKey,
  /** Absent: none since the agent started. */
  lastHandshake: Type.Optional(Moment),
  /** The source address of the peer's packets. */
  address: Type.Optional(IpAddress),
  receivedBytes: counter,
  sentBytes: counter,
});
export type PeerReport = Static<typeof PeerReport>;

/** The limit of a warning, in characters. */
export const longestWarning = 500;

export const Heartbeat = closedObject({
  type: oneOf(["heartbeat"]),
  /** Increases by one with each heartbeat. The server repeats it in its answer. */
  sequence: counter,
  /** The share of the capacity in use, 0 to 1. */
  load: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
  /** The round-trip time of an earlier heartbeat. */
  roundTripTimeMs: Type.Optional(Type.Number({ minimum: 0, maximum: longestRoundTripMs })),
  /** The peers that changed since the last heartbeat. Beyond the limit, they follow in later heartbeats. */
  peers: Type.Array(PeerReport, { maxItems: 1000 }),
  /** Problems that do not prevent enforcement, such as DNS, as text for people. Absent: none. */
  warnings: Type.Optional(Type.Array(Type.String({ maxLength: longestWarning }), { maxItems: 8 })),
});
export type Heartbeat = Static<typeof Heartbeat>;

// From the server -----------------------------------------------------------------------------------------------------

/** The answer to `hello`. */
export const Welcome = closedObject({
  type: oneOf(["welcome"]),
  /** The tenant's signing key. The agent pins the first one, and later accepts only keys that it leads to. */
  signingKey: SigningKey,
  handovers: SigningKeyHandovers,
  heartbeatIntervalMs: Type.Integer({ minimum: 100, maximum: 600_000 }),
  /** The server's clock, for a warning if the agent's clock differs. */
  now: Moment,
});
export type Welcome = Static<typeof Welcome>;

/** A configuration with its whole content. */
export const Whole = closedObject({
  type: oneOf(["whole"]),
  envelope: ConfigurationEnvelope,
  content: ConfigurationContent,
});
export type Whole = Static<typeof Whole>;

/** A configuration as a difference from another one. */
export const Difference = closedObject({
  type: oneOf(["difference"]),
  envelope: ConfigurationEnvelope,
  base: ConfigurationName,
  difference: ConfigurationDifference,
});
export type Difference = Static<typeof Difference>;

export const goodbyeReasons = [
  "token_revoked",
  "gateway_gone",
  "key_refused",
  "replaced",
  "shutting_down",
  "overloaded",
  "protocol",
] as const;

/** The last frame of a link. */
export const Goodbye = closedObject({
  type: oneOf(["goodbye"]),
  reason: oneOf(goodbyeReasons),
  /** The minimum delay before the agent reconnects. */
  retryAfterMs: Type.Optional(Type.Integer({ minimum: 0, maximum: 3_600_000 })),
});
export type Goodbye = Static<typeof Goodbye>;

export type AgentMessage = Hello | KeyProof | Applied | Failed | Heartbeat;
export type ServerMessage = Challenge | Welcome | Whole | Difference | HeartbeatAnswer | Goodbye;

/** The schemas of frames by type, for validation. */
export const agentFrames = {
  hello: Hello,
  proof: KeyProof,
  applied: Applied,
  failed: Failed,
  heartbeat: Heartbeat,
  part: Part,
} as const;
export const serverFrames = {
  challenge: Challenge,
  welcome: Welcome,
  whole: Whole,
  difference: Difference,
  "heartbeat-answer": HeartbeatAnswer,
  goodbye: Goodbye,
  part: Part,
} as const;
