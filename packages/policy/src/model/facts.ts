/**
 * The input of decisions: the facts of one tenant, free of database types, timestamps and secrets. References are ids.
 * A reference to a missing record is treated as absent.
 */
import type { ResourceType } from "@gatehouse/contract/records/address";
import type { AdmissionRule } from "@gatehouse/contract/records/admission-rule";
import type { GatewayStatus } from "@gatehouse/contract/records/gateway";
import type { PolicyMode, PolicyType } from "@gatehouse/contract/records/policy";
import type { transportProtocols } from "@gatehouse/contract/records/protocol";
import type { LoadBalancingMode } from "@gatehouse/contract/records/resource";
import type { UserStatus } from "@gatehouse/contract/records/user";
import type { OfferedProtocols } from "./protocol-lists.ts";

export type TransportProtocol = (typeof transportProtocols)[number];

/** A user's attributes or a device's posture: a flat object. */
export type Properties = Readonly<Record<string, string | number | boolean>>;

export interface UserFacts {
  readonly id: string;
  readonly email: string;
  readonly firstName: string;
  readonly lastName: string;
  readonly status: UserStatus;
  /** Ids of the groups of which the user is a member. */
  readonly groups: readonly string[];
  readonly attributes: Properties;
}

export interface GroupFacts {
  readonly id: string;
  readonly name: string;
}

/** How the user last signed in on a device. */
export interface SessionFacts {
  /** When the user authenticated, in milliseconds since 1970. */
  readonly authenticatedAt: number;
  /** Authentication methods (RFC 8176). */
  readonly methods: readonly string[];
  /** The id of the identity provider. Null if the user signed in without one. */
  readonly provider: string | null;
}

export interface DeviceFacts {
  readonly id: string;
  /** Null after the user was deleted. */
  readonly userId: string | null;
  readonly active: boolean;
  readonly name: string;
  readonly os: string;
  readonly osVersion: string;
  readonly appVersion: string;
  readonly hardwareId: string;
  /** The tags in their stored order. */
  readonly tags: readonly string[];
  /** False for a device that runs another WireGuard app instead of our agent. */
  readonly agent: boolean;
  readonly posture: Properties;
  /** Null or absent if nobody has signed in on the device, or if the session was ended. */
  readonly session?: SessionFacts | null;
  /**
   * The end of the device's session, in milliseconds since 1970. Null or absent if no session limits the device. It is
   * observed, like the status of a gateway: it is not part of the history of records.
   */
  readonly sessionEndsAt?: number | null;
}

export interface GatewayFacts {
  readonly id: string;
  readonly name: string;
  readonly status: GatewayStatus;
  /** The share of the gateway's capacity in use, from 0 to 1. Null if not reported. */
  readonly load: number | null;
  /** The round-trip time to the control plane, in milliseconds. Null if not measured. */
  readonly roundTripTimeMs: number | null;
}

export interface AddressFacts {
  /** An IP address, a CIDR block, a host name, or `*.domain`, in stored form. */
  readonly address: string;
  /** The protocols of the address. If empty, nothing reaches the address. */
  readonly protocols: OfferedProtocols;
  /** Blocks that contain the addresses that DNS may return for a private name. Null or absent for the default. */
  readonly answersWithin?: readonly string[] | null;
}

export interface ResourceFacts {
  /** A UUIDv7. Of two resources, the one with the smaller id was created first. */
  readonly id: string;
  readonly name: string;
  readonly type: ResourceType;
  readonly loadBalancingMode: LoadBalancingMode;
  readonly addresses: readonly AddressFacts[];
  /** Ids in the order of priority. */
  readonly gateways: readonly string[];
}

export interface RuleFacts {
  readonly id: string;
  readonly name: string;
  readonly type: AdmissionRule["type"];
  /** Null unless the type is CUSTOM. */
  readonly text: string | null;
}

export interface PolicyFacts {
  readonly id: string;
  readonly name: string;
  readonly type: PolicyType;
  readonly isDefault: boolean;
  readonly active: boolean;
  readonly action: boolean;
  readonly mode: PolicyMode | null;
  readonly allGroups: boolean;
  readonly allUsers: boolean;
  readonly allDevices: boolean;
  readonly allResources: boolean;
  /** Ids, as in the lists below. */
  readonly groups: readonly string[];
  readonly users: readonly string[];
  readonly devices: readonly string[];
  readonly resources: readonly string[];
  /** Ids in order. If empty, any gateway of the resource. */
  readonly gateways: readonly string[];
  /** Addresses and CIDR blocks in canonical form. If empty, any address. */
  readonly sourceIps: readonly string[];
  /** The id of the admission rule. */
  readonly rule: string;
}

export interface TenantFacts {
  readonly users: readonly UserFacts[];
  readonly groups: readonly GroupFacts[];
  readonly devices: readonly DeviceFacts[];
  readonly gateways: readonly GatewayFacts[];
  readonly resources: readonly ResourceFacts[];
  readonly rules: readonly RuleFacts[];
  /** Policies in the order of evaluation within each type. A default policy is the last of its type. */
  readonly policies: readonly PolicyFacts[];
}

/** The kinds of facts with ids. */
export interface FactsByKind {
  readonly user: UserFacts;
  readonly group: GroupFacts;
  readonly device: DeviceFacts;
  readonly gateway: GatewayFacts;
  readonly resource: ResourceFacts;
  readonly rule: RuleFacts;
  /**
   * A new policy comes last among the policies of its type, before the default policy. `policy-order` changes the
   * order.
   */
  readonly policy: PolicyFacts;
}

/** A change of facts: a record was created or changed, a record is gone, or the policies of a type have a new order. */
export type FactChange =
  | { [Kind in keyof FactsByKind]: { readonly kind: Kind; readonly facts: FactsByKind[Kind] } }[keyof FactsByKind]
  | { readonly kind: keyof FactsByKind; readonly gone: string }
  /** The ids of all policies of the type, in the order of evaluation. */
  | { readonly kind: "policy-order"; readonly type: PolicyType; readonly ids: readonly string[] };
