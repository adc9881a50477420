/** What a gateway and the server say to each other: see SPEC.md beside this file. Each frame is one JSON text. */

import { Endpoint, IpAddress, Moment, PublicKey } from "@gatehouse/contract/network-values";
import { closedObject, oneOf } from "@gatehouse/contract/schema";
import Type, { type Static } from "typebox";
import { ConfigurationName, Sha256, SigningKey } from "../link/envelope.ts";
import { counter, HeartbeatAnswer, Part } from "../link/frames.ts";
import {
  ConfigurationContent,
  ConfigurationDifference,
  ConfigurationEnvelope,
  PeerKey,
  Port,
} from "./configuration.ts";

/** Where a server takes links: a WebSocket with the gateway's token as `Authorization: Bearer`. */
export const gatewayLinkPath = "/gateway/v1/link";
/** The subprotocol of the WebSocket; its number is the version of the frames. */
export const gatewayLinkSubprotocol = "gatehouse.gateway.1";

/** A configuration that a gateway enforces, with what tells whether it has to be another one. */
export const EnforcedConfiguration = closedObject({
  ...ConfigurationName.properties,
  /** Of its content. */
  root: Sha256,
  expiresAt: Moment,
});
export type EnforcedConfiguration = Static<typeof EnforcedConfiguration>;

/** Why a configuration is not enforced. */
export const failureReasons = [
  /** Not made for this gateway, or not by the tenant's key. */
  "forged",
  /** Not later than the one that is enforced. */
  "replayed",
  "expired",
  /** A format that this agent does not know. */
  "unknown_format",
  /** A difference from something else than what is enforced. */
  "unknown_base",
  /** The content is not what the signed root stands for. */
  "wrong_root",
  /** The content does not have its form. */
  "malformed",
  /** The kernel, or a program that speaks with it, refused; what was enforced before still is. */
  "not_applied",
] as const;
export type FailureReason = (typeof failureReasons)[number];

// From the agent ------------------------------------------------------------------------------------------------------

/** The first frame of a link. */
export const Hello = closedObject({
  type: oneOf(["hello"]),
  agentVersion: Type.String({ maxLength: 64 }),
  /** Of its WireGuard interface. The private key never leaves the gateway. */
  publicKey: PublicKey,
  /** Where devices find it, where the agent was told. */
  endpoint: Type.Optional(Endpoint),
  listenPort: Type.Optional(Port),
  /** What it enforces; null: nothing. */
  enforces: Type.Unsafe<EnforcedConfiguration | null>({ ...EnforcedConfiguration, nullable: true }),
  /** The newest format of configurations that it knows. */
  format: Type.Integer({ minimum: 1, maximum: 1_000_000 }),
});
export type Hello = Static<typeof Hello>;

/** The configuration is enforced. */
export const Applied = closedObject({ type: oneOf(["applied"]), configuration: ConfigurationName });
export type Applied = Static<typeof Applied>;

/** It is not, and what was enforced before still is. */
export const Failed = closedObject({
  type: oneOf(["failed"]),
  configuration: ConfigurationName,
  reason: oneOf(failureReasons),
  /** For people: which part, and what was refused. */
  message: Type.String({ maxLength: 2000 }),
});
export type Failed = Static<typeof Failed>;

export const PeerReport = closedObject({
  peer: PeerKey,
  /** Absent: none since the agent started. */
  lastHandshake: Type.Optional(Moment),
  /** From where its packets come. */
  address: Type.Optional(IpAddress),
  receivedBytes: counter,
  sentBytes: counter,
});
export type PeerReport = Static<typeof PeerReport>;

/** In characters. */
export const longestWarning = 500;

export const Heartbeat = closedObject({
  type: oneOf(["heartbeat"]),
  /** Raised by one with each; the server repeats it in its answer. */
  sequence: counter,
  /** Share of the capacity in use, 0 to 1. */
  load: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
  /** How long the answer to an earlier heartbeat took, in milliseconds. */
  roundTripTimeMs: Type.Optional(Type.Number({ minimum: 0, maximum: 600_000 })),
  /** Peers of which something changed since the last heartbeat; the others in later ones where there are too many. */
  peers: Type.Array(PeerReport, { maxItems: 1000 }),
  /** For people: what the agent enforces but cannot serve, such as names. Absent: nothing. */
  warnings: Type.Optional(Type.Array(Type.String({ maxLength: longestWarning }), { maxItems: 8 })),
});
export type Heartbeat = Static<typeof Heartbeat>;

// From the server -----------------------------------------------------------------------------------------------------

/** The answer to `hello`. */
export const Welcome = closedObject({
  type: oneOf(["welcome"]),
  /** Who signs. An agent pins it when it first meets it, and from then on takes no other. */
  signingKey: SigningKey,
  heartbeatIntervalMs: Type.Integer({ minimum: 100, maximum: 600_000 }),
  /** The server's clock, for a warning where the agent's is far from it. */
  now: Moment,
});
export type Welcome = Static<typeof Welcome>;

/** A configuration with all of its content. */
export const Whole = closedObject({
  type: oneOf(["whole"]),
  envelope: ConfigurationEnvelope,
  content: ConfigurationContent,
});
export type Whole = Static<typeof Whole>;

/** A configuration as what differs from another. */
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
  "replaced",
  "shutting_down",
  "overloaded",
  "protocol",
] as const;

/** The last frame of a link. */
export const Goodbye = closedObject({
  type: oneOf(["goodbye"]),
  reason: oneOf(goodbyeReasons),
  /** Not to come back before. */
  retryAfterMs: Type.Optional(Type.Integer({ minimum: 0, maximum: 3_600_000 })),
});
export type Goodbye = Static<typeof Goodbye>;

export type AgentMessage = Hello | Applied | Failed | Heartbeat;
export type ServerMessage = Welcome | Whole | Difference | HeartbeatAnswer | Goodbye;
export type ServerFrame = ServerMessage | Part;

/** By type, for whoever has to check what arrived. */
export const agentFrames = {
  hello: Hello,
  applied: Applied,
  failed: Failed,
  heartbeat: Heartbeat,
  part: Part,
} as const;
export const serverFrames = {
  welcome: Welcome,
  whole: Whole,
  difference: Difference,
  "heartbeat-answer": HeartbeatAnswer,
  goodbye: Goodbye,
  part: Part,
} as const;
