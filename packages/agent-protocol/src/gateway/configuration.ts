/**
 * What a gateway enforces, as data: see SPEC.md beside this file. Everything is in maps by key, so that a difference names what it
 * changes, and a hash of the whole follows from it without reading the whole again.
 */

import {
  Endpoint,
  hostNamePattern,
  IpAddress,
  IpBlock,
  Ipv4Address,
  ipv4Pattern,
  ipv6Pattern,
  Moment,
  PublicKey,
} from "@gatehouse/contract/network-values";
import { closedObject, oneOf, Uuid } from "@gatehouse/contract/schema";
import Type, { type Static } from "typebox";
import { Sha256, Signature } from "../link/envelope.ts";

/** Raised when an agent that does not know of a change would enforce something wrong. */
export const configurationFormat = 1;

/** Names the purpose of a signature, so that none made for another purpose can stand for it. */
export const configurationSignatureDomain = "gatehouse gateway configuration 1";

/** A host name in lower case, without a final dot. */
export const DomainName = Type.String({ pattern: `^${hostNamePattern}$`, maxLength: 253 });
export const Port = Type.Integer({ minimum: 1, maximum: 65_535 });

/** From the first moment until before the second; null: from the beginning, or as long as the configuration lasts. */
export const TimeWindow = Type.Unsafe<readonly [from: number | null, until: number | null]>({
  type: "array",
  items: { type: "integer", minimum: 0, nullable: true },
  minItems: 2,
  maxItems: 2,
});
export type TimeWindow = Static<typeof TimeWindow>;

/** Ascending and apart; none: never. */
export const TimeWindows = Type.Unsafe<readonly TimeWindow[]>({ type: "array", items: TimeWindow, maxItems: 512 });
export type TimeWindows = Static<typeof TimeWindows>;

// Peers ---------------------------------------------------------------------------------------------------------------

/** A peer's key: its IPv4 address in the tunnel, which no other device or gateway of the tenant ever has. */
export const PeerKey = Type.String({ pattern: `^${ipv4Pattern}$` });

export const DevicePeer = closedObject({
  kind: oneOf(["device"]),
  publicKey: PublicKey,
  /** Its address in the tunnel beside the one that is its key. */
  ipv6: Type.String({ pattern: `^${ipv6Pattern}$` }),
});
export type DevicePeer = Static<typeof DevicePeer>;

/** Another gateway, for traffic between sites. */
export const SitePeer = closedObject({
  kind: oneOf(["site"]),
  publicKey: PublicKey,
  ipv6: Type.String({ pattern: `^${ipv6Pattern}$` }),
  /** Absent: the other side finds this one. */
  endpoint: Type.Optional(Endpoint),
  /** What is behind it, beside its own addresses. No two peers have an address in common. */
  networks: Type.Array(IpBlock, { maxItems: 5000 }),
});
export type SitePeer = Static<typeof SitePeer>;

export const Peer = Type.Unsafe<DevicePeer | SitePeer>({ anyOf: [DevicePeer, SitePeer] });
export type Peer = Static<typeof Peer>;

// Access classes ------------------------------------------------------------------------------------------------------

/**
 * A set of devices that rules name. A change of one device changes one entry of each class that it is in, and nothing of the rules.
 */
export const ClassKey = Type.String({ pattern: "^[a-z][a-z0-9-]{0,79}(?:/[a-z0-9-]{1,80}){0,2}$" });
/** In place of a class: every peer of kind device. Nothing is listed under this key. */
export const everyDevice = "*";

/** What a class says of a member: true for as long as the configuration lasts, or when. */
export const Membership = Type.Unsafe<true | TimeWindows>({ anyOf: [{ const: true }, TimeWindows] });
export type Membership = Static<typeof Membership>;

// Rules ---------------------------------------------------------------------------------------------------------------

const ruleParts = {
  action: oneOf(["allow", "deny"]),
  /** When the rule is there at all; absent: always. */
  windows: Type.Optional(TimeWindows),
};

/** For traffic of devices. It is about a device that is, at the moment, a member of one of its classes. */
export const DeviceRule = closedObject({
  ...ruleParts,
  classes: Type.Array(Type.String({ pattern: `^(?:\\*|[a-z][a-z0-9/-]{0,241})$` }), { minItems: 1, maxItems: 10_000 }),
});
export type DeviceRule = Static<typeof DeviceRule>;

/** For traffic that enters at another site. It is about a source address in one of its blocks, none: any. */
export const SiteRule = closedObject({ ...ruleParts, sources: Type.Array(IpBlock, { maxItems: 1000 }) });
export type SiteRule = Static<typeof SiteRule>;

/** In order: the first rule that is about the source decides; where none is, the traffic is dropped. */
export const ResourceRules = closedObject({
  devices: Type.Array(DeviceRule, { maxItems: 10_000 }),
  sites: Type.Array(SiteRule, { maxItems: 10_000 }),
});
export type ResourceRules = Static<typeof ResourceRules>;

// Destinations --------------------------------------------------------------------------------------------------------

/** An address as resources have them: an IP address or block with its prefix length, a host name, or `*.domain`. */
export const DestinationKey = Type.String({
  pattern: `^(?:${ipv4Pattern}/[0-9]{1,2}|${ipv6Pattern}/[0-9]{1,3}|(?:\\*\\.)?${hostNamePattern})$`,
  maxLength: 255,
});

export const Service = closedObject({
  protocol: oneOf(["TCP", "UDP", "ICMP"]),
  /** First and last; absent: all, or a protocol without any. */
  ports: Type.Optional(
    Type.Unsafe<readonly [first: number, last: number]>({ type: "array", items: Port, minItems: 2, maxItems: 2 }),
  ),
  /** Whose rules decide; absent: dropped, because the resource is not reached through this gateway. */
  resource: Type.Optional(Uuid),
});
export type Service = Static<typeof Service>;

/**
 * What is at an address. Of all destinations that an address is in, only the most specific counts. The first service that has the
 * packet's protocol and port says whose rules decide.
 */
export const Destination = closedObject({
  services: Type.Array(Service, { maxItems: 10_000 }),
  /** Where no service has it: dropped, or decided as traffic to the internet. */
  otherwise: oneOf(["drop", "internet"]),
});
export type Destination = Static<typeof Destination>;

// Settings ------------------------------------------------------------------------------------------------------------

export const Settings = closedObject({
  interface: closedObject({
    listenPort: Port,
    /** The gateway's own addresses in the tunnel. */
    ipv4: Ipv4Address,
    ipv6: Type.String({ pattern: `^${ipv6Pattern}$` }),
    /** All of the tenant's addresses in the tunnel, devices' and gateways'. */
    pools: Type.Array(IpBlock, { minItems: 1, maxItems: 4 }),
  }),
  dns: closedObject({
    /** Resolvers of the site, in order; none: those of the machine. */
    resolvers: Type.Array(IpAddress, { maxItems: 8 }),
    /** Domains with resolvers of their own; the longest that a name is below counts. */
    domains: Type.Array(
      closedObject({ domain: DomainName, resolvers: Type.Array(IpAddress, { minItems: 1, maxItems: 8 }) }),
      { maxItems: 500 },
    ),
  }),
  /** Present: devices reach the internet through this gateway, which masquerades, as far as these rules allow. */
  internet: Type.Optional(closedObject({ devices: Type.Array(DeviceRule, { maxItems: 10_000 }) })),
  /** Gateways to which this one carries WireGuard's packets as they are, from a port of its own to their endpoint. */
  relay: Type.Optional(Type.Array(closedObject({ listenPort: Port, endpoint: Endpoint }), { maxItems: 5000 })),
  /**
   * Present: in maintenance. Connections that began after `since` are refused; those before may go on until `until`, as far as rules allow.
   */
  drain: Type.Optional(closedObject({ since: Moment, until: Moment })),
});
export type Settings = Static<typeof Settings>;

// The whole -----------------------------------------------------------------------------------------------------------

function mapOf<Value>(key: { pattern: string }, value: object, description: string) {
  return Type.Unsafe<Readonly<Record<string, Value>>>({
    type: "object",
    description,
    propertyNames: key,
    additionalProperties: value,
  });
}

const keyOf = (pattern: unknown) => pattern as { pattern: string }; // schemas of strings with a pattern

/** A class as a whole. */
export const AccessClass = mapOf<Membership>(keyOf(PeerKey), Membership, "Memberships by the peer's key.");
export type AccessClass = Static<typeof AccessClass>;

export const ConfigurationContent = closedObject({
  settings: Settings,
  peers: mapOf<Peer>(keyOf(PeerKey), Peer, "Peers by key."),
  classes: mapOf<AccessClass>(keyOf(ClassKey), AccessClass, "Access classes by key."),
  resources: mapOf<ResourceRules>({ pattern: "^[0-9a-f-]{36}$" }, ResourceRules, "Rules by the resource's id."),
  destinations: mapOf<Destination>(keyOf(DestinationKey), Destination, "Destinations by address."),
});
export type ConfigurationContent = Static<typeof ConfigurationContent>;

/** What is signed of a configuration. The root stands for the content: see SPEC.md, "Hashes". */
export const ConfigurationHeader = closedObject({
  format: Type.Integer({ minimum: 1, maximum: 1_000_000 }),
  tenant: Uuid,
  gateway: Uuid,
  /** Of the tenant. Of two configurations, the later one has the higher generation, or the same and a later `issuedAt`. */
  generation: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
  issuedAt: Moment,
  /** From then on it is not enforced: everything is dropped. */
  expiresAt: Moment,
  root: Sha256,
});
export type ConfigurationHeader = Static<typeof ConfigurationHeader>;

/** A header with the tenant's signature over it. */
export const ConfigurationEnvelope = closedObject({ header: ConfigurationHeader, signature: Signature });
export type ConfigurationEnvelope = Static<typeof ConfigurationEnvelope>;

/** A configuration as it is kept on disk and given to an agent by hand. */
export const SignedConfiguration = closedObject({ envelope: ConfigurationEnvelope, content: ConfigurationContent });
export type SignedConfiguration = Static<typeof SignedConfiguration>;

// Differences ---------------------------------------------------------------------------------------------------------

function changesOf<Value>(key: { pattern: string }, value: object) {
  return Type.Optional(
    Type.Unsafe<{ readonly put?: Readonly<Record<string, Value>>; readonly remove?: readonly string[] }>({
      type: "object",
      additionalProperties: false,
      properties: {
        put: { type: "object", propertyNames: key, additionalProperties: value },
        remove: { type: "array", items: { type: "string", maxLength: 255 } },
      },
    }),
  );
}

const ClassChange = Type.Unsafe<{
  readonly put?: Readonly<Record<string, Membership>>;
  readonly remove?: readonly string[];
}>(changesOf<Membership>(keyOf(PeerKey), Membership));

/** What turns one content into another. Removing comes first; what is removed is there, and what is put replaces what was there. */
export const ConfigurationDifference = closedObject({
  settings: Type.Optional(Settings),
  peers: changesOf<Peer>(keyOf(PeerKey), Peer),
  /** Classes that go as a whole, and the others' changes; a class that is not there is an empty one. */
  classes: Type.Optional(
    closedObject({
      remove: Type.Optional(Type.Array(ClassKey)),
      change: Type.Optional(
        mapOf<Static<typeof ClassChange>>(keyOf(ClassKey), ClassChange, "Changes of memberships by the class's key."),
      ),
    }),
  ),
  resources: changesOf<ResourceRules>({ pattern: "^[0-9a-f-]{36}$" }, ResourceRules),
  destinations: changesOf<Destination>(keyOf(DestinationKey), Destination),
});
export type ConfigurationDifference = Static<typeof ConfigurationDifference>;
