/** What a device does to reach what it may: gateways as peers of its WireGuard interface, and whom to ask for names. */
import Type, { type Static } from "typebox";
import {
  Endpoint,
  IpAddress,
  IpBlock,
  Ipv4Address,
  Moment,
  PublicKey,
  Sha256,
  Signature,
} from "../gateway-link/configuration.ts";
import { closedObject, Uuid } from "../schema.ts";

/** Raised when an agent that does not know of a change would send packets to a wrong place. */
export const deviceConfigurationFormat = 1;

/** Names the purpose of a signature, so that none made for another purpose can stand for it. */
export const deviceConfigurationSignatureDomain = "gatehouse device configuration 1";

export const DeviceGateway = closedObject({
  gateway: Uuid,
  publicKey: PublicKey,
  /** Its addresses in the tunnel, where it also answers DNS. */
  addresses: Type.Array(IpAddress, { minItems: 2, maxItems: 2 }),
  endpoint: Type.Optional(Endpoint),
  /** Where relays take packets for it, to be tried when the endpoint does not answer. */
  relays: Type.Array(Endpoint, { maxItems: 100 }),
  /** What goes through it; no block stands with two gateways. Its own addresses always do. */
  allowedIps: Type.Array(IpBlock),
  /** Host names and wildcards to ask it for; what it answers goes through it too. */
  names: Type.Array(Type.String({ maxLength: 255 })),
});
export type DeviceGateway = Static<typeof DeviceGateway>;

export const DeviceConfiguration = closedObject({
  device: Uuid,
  ipv4: Ipv4Address,
  ipv6: IpAddress,
  gateways: Type.Array(DeviceGateway),
  /** The gateway through which everything else goes; absent: the device's own connection. */
  internet: Type.Optional(Uuid),
  /** Before this moment time alone changes nothing; absent: it never does. */
  validUntil: Type.Optional(Moment),
});
export type DeviceConfiguration = Static<typeof DeviceConfiguration>;

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
