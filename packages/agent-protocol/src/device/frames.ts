/** What a device and the server say to each other: see SPEC.md beside this file. Each frame is one JSON text. */

import { Moment, PublicKey } from "@gatehouse/contract/network-values";
import { closedObject, oneOf, Uuid } from "@gatehouse/contract/schema";
import Type, { type Static } from "typebox";
import { ConfigurationName, SigningKey } from "../link/envelope.ts";
import { counter, HeartbeatAnswer, Part } from "../link/frames.ts";
import { SignedDeviceConfiguration } from "./configuration.ts";

/** Where a server takes links: a WebSocket with the device's token as `Authorization: Bearer`. */
export const deviceLinkPath = "/device/v1/link";
/** The subprotocol of the WebSocket; its number is the version of the frames. */
export const deviceLinkSubprotocol = "gatehouse.device.1";

/** Why a configuration is not in use. */
export const deviceFailureReasons = [
  /** Not made for this device, or not by the tenant's key. */
  "forged",
  /** Not later than the one that is in use. */
  "replayed",
  "expired",
  /** A format that this agent does not know. */
  "unknown_format",
  /** The content does not have its form, or is not what was signed. */
  "malformed",
  /** The machine refused; what was in use before still is. */
  "not_applied",
] as const;
export type DeviceFailureReason = (typeof deviceFailureReasons)[number];

// From the device -----------------------------------------------------------------------------------------------------

/** The first frame of a link. */
export const DeviceHello = closedObject({
  type: oneOf(["hello"]),
  agentVersion: Type.String({ maxLength: 64 }),
  /** Of its WireGuard interface: the one that it was enrolled with. */
  publicKey: PublicKey,
  /** What it has in use; null: nothing. */
  uses: Type.Unsafe<ConfigurationName | null>({ ...ConfigurationName, nullable: true }),
  /** The newest format of configurations that it knows. */
  format: Type.Integer({ minimum: 1, maximum: 1_000_000 }),
});
export type DeviceHello = Static<typeof DeviceHello>;

/** The configuration is in use. */
export const DeviceApplied = closedObject({ type: oneOf(["applied"]), configuration: ConfigurationName });
export type DeviceApplied = Static<typeof DeviceApplied>;

/** It is not, and what was in use before still is. */
export const DeviceFailed = closedObject({
  type: oneOf(["failed"]),
  configuration: ConfigurationName,
  reason: oneOf(deviceFailureReasons),
  /** For people: which part, and what was refused. */
  message: Type.String({ maxLength: 2000 }),
});
export type DeviceFailed = Static<typeof DeviceFailed>;

export const DeviceHeartbeat = closedObject({
  type: oneOf(["heartbeat"]),
  /** Raised by one with each; the server repeats it in its answer. */
  sequence: counter,
  /** The gateways that it has as peers, with the last handshake of each. */
  gateways: Type.Array(closedObject({ gateway: Uuid, lastHandshake: Type.Optional(Moment) }), { maxItems: 1000 }),
});
export type DeviceHeartbeat = Static<typeof DeviceHeartbeat>;

// From the server -----------------------------------------------------------------------------------------------------

/** The answer to `hello`. */
export const DeviceWelcome = closedObject({
  type: oneOf(["welcome"]),
  tenant: Uuid,
  device: Uuid,
  /** Who signs. An agent pins it when it first meets it, and from then on takes no other. */
  signingKey: SigningKey,
  heartbeatIntervalMs: Type.Integer({ minimum: 100, maximum: 600_000 }),
  /** The server's clock, for a warning where the device's is far from it. */
  now: Moment,
});
export type DeviceWelcome = Static<typeof DeviceWelcome>;

/** What the device has to use from now on. */
export const DeviceConfigure = closedObject({
  type: oneOf(["configuration"]),
  configuration: SignedDeviceConfiguration,
});
export type DeviceConfigure = Static<typeof DeviceConfigure>;

export const deviceGoodbyeReasons = [
  "token_revoked",
  "device_gone",
  /** The public key is not the one that the device was enrolled with. */
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
  /** Not to come back before. */
  retryAfterMs: Type.Optional(Type.Integer({ minimum: 0, maximum: 3_600_000 })),
});
export type DeviceGoodbye = Static<typeof DeviceGoodbye>;

export type DeviceMessage = DeviceHello | DeviceApplied | DeviceFailed | DeviceHeartbeat;
export type DeviceServerMessage = DeviceWelcome | DeviceConfigure | HeartbeatAnswer | DeviceGoodbye;
export type DeviceFrame = DeviceMessage | Part;
export type DeviceServerFrame = DeviceServerMessage | Part;

/** By type, for whoever has to check what arrived. */
export const deviceFrames = {
  hello: DeviceHello,
  applied: DeviceApplied,
  failed: DeviceFailed,
  heartbeat: DeviceHeartbeat,
  part: Part,
} as const;
export const deviceServerFrames = {
  welcome: DeviceWelcome,
  configuration: DeviceConfigure,
  "heartbeat-answer": HeartbeatAnswer,
  goodbye: DeviceGoodbye,
  part: Part,
} as const;
