/** The signed form of a device's configuration. The content is a record of the API. */

import { Moment } from "@gatehouse/contract/network-values";
import { DeviceConfiguration } from "@gatehouse/contract/records/device-configuration";
import { closedObject, Uuid } from "@gatehouse/contract/schema";
import Type, { type Static } from "typebox";
import { Sha256, Signature } from "../link/envelope.ts";

/** Raised for a change that older agents would apply incorrectly. */
export const deviceConfigurationFormat = 1;

/** The purpose of the signature. A signature for another purpose is not valid here. */
export const deviceConfigurationSignatureDomain = "gatehouse device configuration 1";

/** The signed part. `content` is the hash of the content's canonical JSON. */
export const DeviceConfigurationHeader = closedObject({
  format: Type.Integer({ minimum: 1, maximum: 1_000_000 }),
  tenant: Uuid,
  device: Uuid,
  /** The generation of the tenant. A later configuration has a higher one, or the same and a later `issuedAt`. */
  generation: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
  issuedAt: Moment,
  /** From this time on, the device sends nothing through gateways. */
  expiresAt: Moment,
  content: Sha256,
});
export type DeviceConfigurationHeader = Static<typeof DeviceConfigurationHeader>;

/** A configuration as it is sent, and stored on the device's disk. */
export const SignedDeviceConfiguration = closedObject({
  header: DeviceConfigurationHeader,
  /**
   * Signs the domain, a line feed, and the hash of the header's canonical JSON in hexadecimal, with the tenant's key.
   */
  signature: Signature,
  content: DeviceConfiguration,
});
export type SignedDeviceConfiguration = Static<typeof SignedDeviceConfiguration>;
