/**
 * The schema of a gateway's configuration: see SPEC.md. All parts are maps by key, so that a difference names its
 * changes, and the hash of the result can be computed without reading everything again.
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

/** Raised for a change that older agents would enforce incorrectly. */
export const configurationFormat = 1;

/** The purpose of the signature. A signature for another purpose is not valid here. */
export const configurationSignatureDomain = "gatehouse gateway configuration 1";

/** A host name in lower case, without a final dot. */
export const DomainName = Type.String({ pattern: `^${hostNamePattern}$`, maxLength: 253 });
export const Port = Type.Integer({ minimum: 1, maximum: 65_535 });

/** A window includes its start and excludes its end. A start of null is unbounded; an end of null is the expiry. */
export const TimeWindow = Type.Unsafe<readonly [from: number | null, until: number | null]>({
  type: "array",
  items: { type: "integer", minimum: 0, nullable: true },
  minItems: 2,
  maxItems: 2,
});
export type TimeWindow = Static<typeof TimeWindow>;

/** Windows in ascending order, without overlaps; none: never. */
export const TimeWindows = Type.Unsafe<readonly TimeWindow[]>({ type: "array", items: TimeWindow, maxItems: 512 });
export type TimeWindows = Static<typeof TimeWindows>;

// Peers ---------------------------------------------------------------------------------------------------------------

/** A peer's key: its IPv4 tunnel address, which is unique among all devices and gateways of the tenant. */
export const PeerKey = Type.String({ pattern: `^${ipv4Pattern}$` });

export const DevicePeer = closedObject({
  kind: oneOf(["device"]),
  publicKey: PublicKey,
  /** The IPv6 tunnel address. */
  ipv6: Type.String({ pattern: `^${ipv6Pattern}$` }),
  /** The end of the device's session, after which the device is not a peer. Absent if no session limits the device. */
  until: Type.Optional(Moment),
});
export type DevicePeer = Static<typeof DevicePeer>;

/** Another gateway of the tenant, for traffic between sites. */
export const SitePeer = closedObject({
  kind: oneOf(["site"]),
  publicKey: PublicKey,
  ipv6: Type.String({ pattern: `^${ipv6Pattern}$` }),
  /** Absent: the other gateway connects to this one. */
  endpoint: Type.Optional(Endpoint),
  /** The networks behind the gateway. No two peers share an address. */
  networks: Type.Array(IpBlock, { maxItems: 5000 }),
});
export type SitePeer = Static<typeof SitePeer>;

export const Peer = Type.Unsafe<DevicePeer | SitePeer>({ anyOf: [DevicePeer, SitePeer] });
export type Peer = Static<typeof Peer>;

// Access classes ------------------------------------------------------------------------------------------------------

/** The key of a set of devices that rules refer to. A change of a device changes only its entries, and no rule. */
export const ClassKey = Type.String({ pattern: "^[a-z][a-z0-9-]{0,79}(?:/[a-z0-9-]{1,80}){0,2}$" });
/** Refers to every peer of kind device. `classes` has no such entry. */
export const everyDevice = "*";

/** When a device is a member of a class; true: always. */
export const Membership = Type.Unsafe<true | TimeWindows>({ anyOf: [{ const: true }, TimeWindows] });
export type Membership = Static<typeof Membership>;

// Rules ---------------------------------------------------------------------------------------------------------------

const ruleParts = {
  action: oneOf(["allow", "deny"]),
  /** When the rule applies; absent: always. */
  windows: Type.Optional(TimeWindows),
};

/** A rule for traffic of devices. It matches devices that are currently members of one of its classes. */
export const DeviceRule = closedObject({
  ...ruleParts,
  classes: Type.Array(Type.String({ pattern: `^(?:\\*|[a-z][a-z0-9/-]{0,241})$` }), { minItems: 1, maxItems: 10_000 }),
});
export type DeviceRule = Static<typeof DeviceRule>;

/** A rule for traffic from another site. It matches source addresses in one of its blocks; none: any address. */
export const SiteRule = closedObject({ ...ruleParts, sources: Type.Array(IpBlock, { maxItems: 1000 }) });
export type SiteRule = Static<typeof SiteRule>;

/** Rules in order. The first rule that matches the source decides. If none matches, the traffic is dropped. */
export const ResourceRules = closedObject({
  devices: Type.Array(DeviceRule, { maxItems: 10_000 }),
  sites: Type.Array(SiteRule, { maxItems: 10_000 }),
});
export type ResourceRules = Static<typeof ResourceRules>;

// Destinations --------------------------------------------------------------------------------------------------------

/** The address of a resource: an IP address or block with its prefix length, a host name, or `*.domain`. */
export const DestinationKey = Type.String({
  pattern: `^(?:${ipv4Pattern}/[0-9]{1,2}|${ipv6Pattern}/[0-9]{1,3}|(?:\\*\\.)?${hostNamePattern})$`,
  maxLength: 255,
});

export const Service = closedObject({
  protocol: oneOf(["TCP", "UDP", "ICMP"]),
  /** First and last port; absent: all ports, or a protocol without ports. */
  ports: Type.Optional(
    Type.Unsafe<readonly [first: number, last: number]>({ type: "array", items: Port, minItems: 2, maxItems: 2 }),
  ),
  /** The resource whose rules decide; absent: dropped, because this gateway does not carry the resource. */
  resource: Type.Optional(Uuid),
});
export type Service = Static<typeof Service>;

/** The most services of a destination. An agent refuses a configuration with more. */
export const mostServices = 10_000;

/** The most blocks in the `answers` of a destination. An agent refuses a configuration with more. */
export const mostAnswerRanges = 10_000;

/**
 * The addresses that a name may open. `global`: globally reachable addresses, for names of SAAS resources alone.
 * `networks`: addresses in `settings.dns.networks`. A list: addresses in these blocks; none: no address.
 */
export const Answers = Type.Unsafe<"global" | "networks" | readonly string[]>({
  anyOf: [oneOf(["global", "networks"]), Type.Array(IpBlock, { maxItems: mostAnswerRanges })],
});
export type Answers = Static<typeof Answers>;

/**
 * The services of an address. Of all destinations that contain an address, only the most specific counts. The first
 * service with the packet's protocol and port names the resource whose rules decide.
 */
export const Destination = closedObject({
  services: Type.Array(Service, { maxItems: mostServices }),
  /** If no service matches: drop, or decide as internet traffic. */
  otherwise: oneOf(["drop", "internet"]),
  /** The addresses that the name may open; absent: all that are not closed. */
  answers: Type.Optional(Answers),
});
export type Destination = Static<typeof Destination>;

// Settings ------------------------------------------------------------------------------------------------------------

export const Settings = closedObject({
  interface: closedObject({
    listenPort: Port,
    /** The gateway's tunnel addresses. */
    ipv4: Ipv4Address,
    ipv6: Type.String({ pattern: `^${ipv6Pattern}$` }),
    /** All tunnel addresses of the tenant's devices and gateways. */
    pools: Type.Array(IpBlock, { minItems: 1, maxItems: 4 }),
  }),
  dns: closedObject({
    /** The resolvers of the site, in order; none: those of the machine. */
    resolvers: Type.Array(IpAddress, { maxItems: 8 }),
    /** Domains with their own resolvers. The longest matching domain counts. */
    domains: Type.Array(
      closedObject({ domain: DomainName, resolvers: Type.Array(IpAddress, { minItems: 1, maxItems: 8 }) }),
      { maxItems: 500 },
    ),
    /** The networks behind the gateway. Absent if an administrator set none. */
    networks: Type.Optional(Type.Array(IpBlock, { minItems: 1, maxItems: 500 })),
  }),
  /** Present: devices reach the internet through this gateway, which masquerades, if these rules allow it. */
  internet: Type.Optional(closedObject({ devices: Type.Array(DeviceRule, { maxItems: 10_000 }) })),
  /** Gateways to which this one forwards WireGuard packets, from a listen port to their endpoint. */
  relay: Type.Optional(Type.Array(closedObject({ listenPort: Port, endpoint: Endpoint }), { maxItems: 5000 })),
  /** Present: in maintenance. New connections are refused since `since`; older ones may continue until `until`. */
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

const keyOf = (pattern: unknown) => pattern as { pattern: string }; // these string schemas have a pattern

/** The members of a class. */
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

/** The signed part of a configuration. The root represents the content: see SPEC.md, "Hashes". */
export const ConfigurationHeader = closedObject({
  format: Type.Integer({ minimum: 1, maximum: 1_000_000 }),
  tenant: Uuid,
  gateway: Uuid,
  /** The generation of the tenant. A later configuration has a higher one, or the same and a later `issuedAt`. */
  generation: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
  issuedAt: Moment,
  /** From this time on, the gateway drops all traffic. */
  expiresAt: Moment,
  root: Sha256,
});
export type ConfigurationHeader = Static<typeof ConfigurationHeader>;

/** A header with the tenant's signature over it. */
export const ConfigurationEnvelope = closedObject({ header: ConfigurationHeader, signature: Signature });
export type ConfigurationEnvelope = Static<typeof ConfigurationEnvelope>;

/** A configuration in the form of files on disk. */
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

/**
 * The changes from one content to another. Removals come first. Every removed entry exists, and `put` replaces entries.
 */
export const ConfigurationDifference = closedObject({
  settings: Type.Optional(Settings),
  peers: changesOf<Peer>(keyOf(PeerKey), Peer),
  /** Removed classes, and changes of others. A missing class equals an empty one. */
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
