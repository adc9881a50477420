/** What a device does to reach what it may: gateways as peers of its WireGuard interface, and whom to ask for names. */

import { Moment } from "@gatehouse/contract/network-values";
import { DeviceConfiguration } from "@gatehouse/contract/records/device-configuration";
import { closedObject, Uuid } from "@gatehouse/contract/schema";
import Type, { type Static } from "typebox";
import { Sha256, Signature } from "../link/envelope.ts";

/** Raised when an agent that does not know of a change would send packets to a wrong place. */
export const deviceConfigurationFormat = 1;

/** Names the purpose of a signature, so that none made for another purpose can stand for it. */
export const deviceConfigurationSignatureDomain = "gatehouse device configuration 1";

/** What is signed. The hash is of the content's canonical JSON. */
export const DeviceConfigurationHeader = closedObject({
  format: Type.Integer({ minimum: 1, maximum: 1_000_000 }),
  tenant: Uuid,
  device: Uuid,
  /** Of the tenant. Of two configurations, the later one has the higher generation, or the same and a later `issuedAt`. */
  generation: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
  issuedAt: Moment,
  /** From then on nothing is sent through any gateway. */
  expiresAt: Moment,
  content: Sha256,
});
export type DeviceConfigurationHeader = Static<typeof DeviceConfigurationHeader>;

/** A configuration as it is sent, and kept on the device's disk. */
export const SignedDeviceConfiguration = closedObject({
  header: DeviceConfigurationHeader,
  /** By the tenant's key, over the domain, a line feed, and the hash of the header's canonical JSON in hexadecimal. */
  signature: Signature,
  content: DeviceConfiguration,
});
export type SignedDeviceConfiguration = Static<typeof SignedDeviceConfiguration>;
