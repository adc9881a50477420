/** What a device does to reach what it may: gateways as peers of its WireGuard interface, and whom to ask for names. */
import Type, { type Static } from "typebox";
import { closedObject, Uuid } from "../schema.ts";
import { Endpoint, IpAddress, IpBlock, Ipv4Address, Moment, PublicKey } from "./configuration.ts";

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
