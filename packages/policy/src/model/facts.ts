/**
 * What decisions are made from: the facts of one tenant, free of database types, times and secrets. References are ids; what they
 * name may be missing, and then counts as not there.
 */
import type { ResourceType } from "@gatehouse/contract/records/address";
import type { AdmissionRule } from "@gatehouse/contract/records/admission-rule";
import type { GatewayStatus } from "@gatehouse/contract/records/gateway";
import type { PolicyMode, PolicyType } from "@gatehouse/contract/records/policy";
import type { NetworkProtocol, transportProtocols } from "@gatehouse/contract/records/protocol";
import type { LoadBalancingMode } from "@gatehouse/contract/records/resource";
import type { UserStatus } from "@gatehouse/contract/records/user";

export type TransportProtocol = (typeof transportProtocols)[number];

/** A user's attributes, or a device's posture: a flat object. */
export type Properties = Readonly<Record<string, string | number | boolean>>;

export interface UserFacts {
  readonly id: string;
  readonly email: string;
  readonly firstName: string;
  readonly lastName: string;
  readonly status: UserStatus;
  /** Ids of the groups that the user is in. */
  readonly groups: readonly string[];
  readonly attributes: Properties;
}

export interface GroupFacts {
  readonly id: string;
  readonly name: string;
}

export interface DeviceFacts {
  readonly id: string;
  /** Null once the user was deleted. */
  readonly userId: string | null;
  readonly active: boolean;
  readonly name: string;
  readonly os: string;
  readonly osVersion: string;
  readonly appVersion: string;
  readonly hardwareId: string;
  readonly posture: Properties;
}

export interface GatewayFacts {
  readonly id: string;
  readonly name: string;
  readonly status: GatewayStatus;
  /** Share of its capacity in use, 0 to 1; null when it has not reported any. */
  readonly load: number | null;
  /** Between the gateway and the control plane, in milliseconds; null when it was not measured. */
  readonly roundTripTimeMs: number | null;
}

export interface AddressFacts {
  /** In the form in which it is stored: an IP address, a CIDR block, a host name, or `*.domain`. */
  readonly address: string;
  /** Of all the address's protocols together. None: nothing reaches the address. */
  readonly protocols: readonly NetworkProtocol[];
}

export interface ResourceFacts {
  /** A UUIDv7: of two resources, the one with the smaller id was created first. */
  readonly id: string;
  readonly name: string;
  readonly type: ResourceType;
  readonly loadBalancingMode: LoadBalancingMode;
  readonly addresses: readonly AddressFacts[];
  /** Ids, in the order of their priority. */
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
  /** In order. Empty: any gateway of the resource. */
  readonly gateways: readonly string[];
  /** Addresses and CIDR blocks in canonical form. Empty: any. */
  readonly sourceIps: readonly string[];
  /** Id of the admission rule. */
  readonly rule: string;
}

export interface TenantFacts {
  readonly users: readonly UserFacts[];
  readonly groups: readonly GroupFacts[];
  readonly devices: readonly DeviceFacts[];
  readonly gateways: readonly GatewayFacts[];
  readonly resources: readonly ResourceFacts[];
  readonly rules: readonly RuleFacts[];
  /** Those of each type in the order in which they are evaluated; a default policy is the last of its type. */
  readonly policies: readonly PolicyFacts[];
}

/** The kinds of fact that have ids. */
export interface FactsByKind {
  readonly user: UserFacts;
  readonly group: GroupFacts;
  readonly device: DeviceFacts;
  readonly gateway: GatewayFacts;
  readonly resource: ResourceFacts;
  readonly rule: RuleFacts;
  /** One that is new comes last among those of its type, before the default policy; `policy-order` says otherwise. */
  readonly policy: PolicyFacts;
}

/** A change of facts: something is now so (created or changed), is gone, or the policies of a type have another order. */
export type FactChange =
  | { [Kind in keyof FactsByKind]: { readonly kind: Kind; readonly facts: FactsByKind[Kind] } }[keyof FactsByKind]
  | { readonly kind: keyof FactsByKind; readonly gone: string }
  /** The ids of all policies of the type, in the order in which they are evaluated. */
  | { readonly kind: "policy-order"; readonly type: PolicyType; readonly ids: readonly string[] };
