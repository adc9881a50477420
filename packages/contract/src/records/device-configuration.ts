import Type, { type Static } from "typebox";
import { Endpoint, IpAddress, IpBlock, Ipv4Address, Moment, PublicKey } from "../network-values.ts";
import { closedObject, Uuid } from "../schema.ts";

/** A gateway as a peer of the device's WireGuard interface. */
export const DeviceGateway = closedObject({
  gateway: Uuid,
  publicKey: PublicKey,
  /** The gateway's tunnel addresses. The gateway answers DNS queries there. */
  addresses: Type.Array(IpAddress, { minItems: 2, maxItems: 2 }),
  endpoint: Type.Optional(Endpoint),
  /** Relays to try, in order, if the endpoint does not answer. */
  relays: Type.Array(Endpoint, { maxItems: 100 }),
  /**
   * Blocks routed through the gateway. No block is listed for two gateways. The gateway's own addresses are implied.
   */
  allowedIps: Type.Array(IpBlock),
  /** Host names and wildcards to resolve through the gateway. The resolved addresses are routed through it too. */
  names: Type.Array(Type.String({ maxLength: 255 })),
});
export type DeviceGateway = Static<typeof DeviceGateway>;

/** The routes of a device: gateways as WireGuard peers, and the names that each of them resolves. */
export const DeviceConfiguration = closedObject({
  device: Uuid,
  ipv4: Ipv4Address,
  ipv6: IpAddress,
  gateways: Type.Array(DeviceGateway),
  /**
   * Address blocks, host names and wildcards of PRIVATE resources that the device may reach, but that no gateway in
   * service carries now. The device's agent drops their packets and does not forward DNS queries for them. Absent:
   * there are none.
   */
  unserved: Type.Optional(
    closedObject({ addresses: Type.Array(IpBlock), names: Type.Array(Type.String({ maxLength: 255 })) }),
  ),
  /** The gateway for all other traffic; absent: the device's own internet connection. */
  internet: Type.Optional(Uuid),
  /** The first time at which a time condition can change the configuration; absent: none can. */
  validUntil: Type.Optional(Moment),
  /** When the device's session ends or has ended; absent: no session limits the device. */
  sessionEndsAt: Type.Optional(Moment),
});
export type DeviceConfiguration = Static<typeof DeviceConfiguration>;
