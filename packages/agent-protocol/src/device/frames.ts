/** The frames of the device link: see SPEC.md. Each frame is one JSON text. */

import { Moment, PublicKey } from "@gatehouse/contract/network-values";
import { closedObject, oneOf, Uuid } from "@gatehouse/contract/schema";
import Type, { type Static } from "typebox";
import { ConfigurationName, SigningKey } from "../link/envelope.ts";
import { counter, HeartbeatAnswer, Part } from "../link/frames.ts";
import { Challenge, KeyProof } from "../link/key-proof.ts";
import { SigningKeyHandovers } from "../link/signing-key-handover.ts";
import { SignedDeviceConfiguration } from "./configuration.ts";

/** The path of the WebSocket, which requires the device's token as `Authorization: Bearer`. */
export const deviceLinkPath = "/device/v1/link";
/** The subprotocols of the WebSocket, the latest first. The number is the version of the frames. */
export const deviceLinkSubprotocols = [
  "gatehouse.device.4",
  "gatehouse.device.3",
  "gatehouse.device.2",
  "gatehouse.device.1",
] as const;
/** The first version in which devices ask questions, and receive the end of their session. */
export const deviceQuestionsVersion = 3;
/** The first version in which devices receive unserved addresses. */
export const deviceUnservedVersion = 4;

/** Why a device does not use a configuration. */
export const deviceFailureReasons = [
  /** The configuration is for another device, or not signed by the tenant's key. */
  "forged",
  /** The configuration is not later than the latest one that was used. */
  "replayed",
  "expired",
  /** A format that this agent does not support. */
  "unknown_format",
  /** The content does not match the schema or the signed hash. */
  "malformed",
  /** The machine refused a change. The previous configuration is still in use. */
  "not_applied",
] as const;
export type DeviceFailureReason = (typeof deviceFailureReasons)[number];

// From the device -----------------------------------------------------------------------------------------------------

/** The first frame of a link. */
export const DeviceHello = closedObject({
  type: oneOf(["hello"]),
  agentVersion: Type.String({ maxLength: 64 }),
  /** The enrolled public key of the WireGuard interface. */
  publicKey: PublicKey,
  /** The configuration in use, or the latest one with a hash of zeros if that has expired; null: none yet. */
  uses: Type.Unsafe<ConfigurationName | null>({ ...ConfigurationName, nullable: true }),
  /** The highest configuration format that the agent supports. */
  format: Type.Integer({ minimum: 1, maximum: 1_000_000 }),
});
export type DeviceHello = Static<typeof DeviceHello>;

/** The configuration is in use. */
export const DeviceApplied = closedObject({ type: oneOf(["applied"]), configuration: ConfigurationName });
export type DeviceApplied = Static<typeof DeviceApplied>;

/** The configuration is not in use. The previous one still is. */
export const DeviceFailed = closedObject({
  type: oneOf(["failed"]),
  configuration: ConfigurationName,
  reason: oneOf(deviceFailureReasons),
  /** The refused part and the reason, as text for people. */
  message: Type.String({ maxLength: 2000 }),
});
export type DeviceFailed = Static<typeof DeviceFailed>;

export const DeviceHeartbeat = closedObject({
  type: oneOf(["heartbeat"]),
  /** Increases by one with each heartbeat. The server repeats it in its answer. */
  sequence: counter,
  /** The gateways that are peers, with their last handshakes. */
  gateways: Type.Array(closedObject({ gateway: Uuid, lastHandshake: Type.Optional(Moment) }), { maxItems: 1000 }),
});
export type DeviceHeartbeat = Static<typeof DeviceHeartbeat>;

/** Asks whether this device can reach something now, and why not. At most one question is unanswered. */
export const DeviceQuestion = closedObject({
  type: oneOf(["question"]),
  /** Chosen by the device. The answer repeats it. */
  number: counter,
  /** Name or id of a resource, a host name, or an IP address. */
  to: Type.String({ minLength: 1, maxLength: 255 }),
});
export type DeviceQuestion = Static<typeof DeviceQuestion>;

// From the server -----------------------------------------------------------------------------------------------------

/** The answer to `hello`. */
export const DeviceWelcome = closedObject({
  type: oneOf(["welcome"]),
  tenant: Uuid,
  device: Uuid,
  /** The tenant's signing key. The agent pins the first one, and later accepts only keys that it leads to. */
  signingKey: SigningKey,
  handovers: SigningKeyHandovers,
  heartbeatIntervalMs: Type.Integer({ minimum: 100, maximum: 600_000 }),
  /** The server's clock, for a warning if the device's clock differs. */
  now: Moment,
});
export type DeviceWelcome = Static<typeof DeviceWelcome>;

/** A configuration that the device should use. */
export const DeviceConfigure = closedObject({
  type: oneOf(["configuration"]),
  configuration: SignedDeviceConfiguration,
});
export type DeviceConfigure = Static<typeof DeviceConfigure>;

export const deviceAnswerOutcomes = [
  "reachable",
  /** Access is allowed, but no gateway can carry the traffic now. */
  "unavailable",
  "blocked",
  /** The server did not evaluate the question: too many questions, or no database. */
  "failed",
] as const;

/** The answer to a question. */
export const DeviceAnswer = closedObject({
  type: oneOf(["answer"]),
  number: counter,
  outcome: oneOf(deviceAnswerOutcomes),
  /** Absent if nothing gives the device access to it, so that names of resources stay confidential. */
  resource: Type.Optional(
    closedObject({
      id: Uuid,
      name: Type.String({ maxLength: 1000 }),
      /** At most 20 addresses, with the ranges of their TCP ports. */
      addresses: Type.Array(
        closedObject({
          address: Type.String({ maxLength: 255 }),
          tcp: Type.Array(Type.String({ pattern: "^[0-9]{1,5}-[0-9]{1,5}$" }), { maxItems: 50 }),
        }),
        { maxItems: 20 },
      ),
    }),
  ),
  /** Why not, as text for people. Agents do not interpret the kind, apart from `session_ended`. */
  reasons: Type.Array(closedObject({ kind: Type.String({ maxLength: 64 }), text: Type.String({ maxLength: 2000 }) }), {
    maxItems: 50,
  }),
});
export type DeviceAnswer = Static<typeof DeviceAnswer>;

export const deviceGoodbyeReasons = [
  "token_revoked",
  "device_gone",
  /** The key is not the enrolled one, or the agent did not prove what it has to prove. */
  "other_key",
  "replaced",
  "shutting_down",
  "overloaded",
  "protocol",
] as const;

/** The last frame of a link. */
export const DeviceGoodbye = closedObject({
  type: oneOf(["goodbye"]),
  reason: oneOf(deviceGoodbyeReasons),
  /** The minimum delay before the device reconnects. */
  retryAfterMs: Type.Optional(Type.Integer({ minimum: 0, maximum: 3_600_000 })),
});
export type DeviceGoodbye = Static<typeof DeviceGoodbye>;

export type DeviceMessage = DeviceHello | KeyProof | DeviceApplied | DeviceFailed | DeviceHeartbeat | DeviceQuestion;
export type DeviceServerMessage =
  | Challenge
  | DeviceWelcome
  | DeviceConfigure
  | HeartbeatAnswer
  | DeviceAnswer
  | DeviceGoodbye;
export type DeviceFrame = DeviceMessage | Part;

/** The schemas of frames by type, for validation. */
export const deviceFrames = {
  hello: DeviceHello,
  proof: KeyProof,
  applied: DeviceApplied,
  failed: DeviceFailed,
  heartbeat: DeviceHeartbeat,
  question: DeviceQuestion,
  part: Part,
} as const;
export const deviceServerFrames = {
  challenge: Challenge,
  welcome: DeviceWelcome,
  configuration: DeviceConfigure,
  "heartbeat-answer": HeartbeatAnswer,
  answer: DeviceAnswer,
  goodbye: DeviceGoodbye,
  part: Part,
} as const;
