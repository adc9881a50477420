/** The policies as paths: subjects → policy → resources → gateways. Decisions also depend on order and rules. */
import type { ItemAt } from "@gatehouse/client/calls";
import { compareText } from "../../../messages/format.ts";
import { t } from "../../../messages/i18n.ts";
import { formatConditions } from "../../../records/policy-conditions.ts";
import { formatStatus, type Tone, toneOfStatus } from "../../../records/status.tsx";

export type Policy = ItemAt<"/tenants/policies">;

/** One entry of the graph: a record, or a label for many records, such as "All users". */
export interface Leaf {
  /** The kind and the id, such as `group:01980000-…`. For a label, a fixed word. */
  readonly key: string;
  readonly kind: "group" | "user" | "device" | "words" | "policy" | "resource" | "gateway";
  readonly id?: string;
  readonly name: string;
  /** The text below the name. */
  readonly note?: string;
  /** The tone of the note if it is a status. */
  readonly tone?: Tone | undefined;
}

export interface Path {
  readonly policy: Leaf;
  /** The position among all policies of the type, from 1. */
  readonly place: number;
  readonly denies: boolean;
  /** Words that follow the action. */
  readonly conditions: readonly string[];
  readonly sources: readonly Leaf[];
  readonly resources: readonly Leaf[];
  /** The gateways that can carry traffic to a resource. */
  readonly gatewaysOf: (resource: Leaf) => readonly Leaf[];
}

export interface KnownGateway {
  readonly id: string;
  readonly name: string;
  readonly status: string;
  readonly resources?: readonly { readonly id: string }[];
}

/** The gateways of each resource, by name. */
export interface Gateways {
  readonly all: readonly Leaf[];
  readonly ofResource: ReadonlyMap<string, readonly Leaf[]>;
}

export const allUsers: Leaf = { key: "all-users", kind: "words", name: t("graph.scope.allUsers") };
export const allGroups: Leaf = { key: "all-groups", kind: "words", name: t("graph.scope.allGroups") };
export const allDevices: Leaf = { key: "all-devices", kind: "words", name: t("graph.scope.allDevices") };
export const anySite: Leaf = { key: "any-site", kind: "words", name: t("graph.scope.anySite") };
export const allResources: Leaf = { key: "all-resources", kind: "words", name: t("graph.scope.allResources") };
const internet: Leaf = { key: "internet", kind: "words", name: t("graph.scope.theInternet") };
const direct: Leaf = { key: "straight", kind: "words", name: t("graph.scope.direct") };

export function readGateways(gateways: readonly KnownGateway[]): Gateways {
  const all: Leaf[] = [];
  const ofResource = new Map<string, Leaf[]>();
  for (const gateway of [...gateways].sort((one, other) => compareText(one.name, other.name))) {
    const leaf: Leaf = {
      ...leafOf("gateway", gateway.id, gateway.name, formatStatus(gateway.status)),
      tone: toneOfStatus(gateway.status),
    };
    all.push(leaf);
    for (const { id } of gateway.resources ?? []) {
      const key = `resource:${id}`;
      const known = ofResource.get(key);
      if (known === undefined) ofResource.set(key, [leaf]);
      else known.push(leaf);
    }
  }
  return { all, ofResource };
}

export function leafOf(kind: Exclude<Leaf["kind"], "words">, id: string, name: string, note?: string): Leaf {
  return { key: `${kind}:${id}`, kind, id, name, ...(note === undefined ? {} : { note }) };
}

/** Active policies in the order of evaluation. */
export function readPaths(policies: readonly Policy[], gateways: Gateways): readonly Path[] {
  return policies.flatMap((policy, index) => (policy.active ? [readPath(policy, index + 1, gateways)] : []));
}

function readPath(policy: Policy, place: number, gateways: Gateways): Path {
  const denies = !policy.action || policy.mode === "RESTRICTED";
  const conditions = formatConditions(policy);
  const note = [`${place} · ${denies ? t("policies.actions.deny") : t("policies.actions.allow")}`, ...conditions].join(
    ", ",
  );
  const own = new Set(policy.gateways.map(({ id }) => `gateway:${id}`));
  const named = gateways.all.filter(({ key }) => own.has(key));
  return {
    policy: leafOf("policy", policy.id, policy.name, note),
    place,
    denies,
    conditions,
    sources: sourcesOf(policy),
    resources: resourcesOf(policy),
    gatewaysOf: (resource) => {
      // Denied traffic passes through no gateway.
      if (denies) return [];
      if (policy.mode === "LOCAL") return [direct];
      const offered = resource.key === allResources.key ? gateways.all : (gateways.ofResource.get(resource.key) ?? []);
      if (policy.type === "INTERNET" && offered.length === 0) return named;
      return own.size === 0 ? offered : offered.filter(({ key }) => own.has(key));
    },
  };
}

function sourcesOf(policy: Policy): readonly Leaf[] {
  if (policy.type === "SITETOSITE") return [anySite];
  return [
    ...(policy.allUsers ? [allUsers] : []),
    ...(policy.allGroups ? [allGroups] : []),
    ...(policy.allDevices ? [allDevices] : []),
    ...policy.groups.map(({ id, name }) => leafOf("group", id, name)),
    ...policy.users.map(({ id, email }) => leafOf("user", id, email ?? id)),
    ...policy.devices.map(({ id, name }) => leafOf("device", id, name)),
  ];
}

function resourcesOf(policy: Policy): readonly Leaf[] {
  if (policy.allResources) return [allResources];
  if (policy.type === "INTERNET" && policy.resources.length === 0) return [internet];
  return policy.resources.map(({ id, name }) => leafOf("resource", id, name));
}

/** The filter of the graph. */
export interface Focus {
  readonly leaf: Leaf;
  /** The keys through which policies match a user, a device or a group. Undefined for other records. */
  readonly sourceKeys?: ReadonlySet<string>;
}

export type Shown = "all" | "allowed" | "denied";

/** The paths through the filter. */
export function narrowPaths(paths: readonly Path[], shown: Shown, focus: Focus | undefined): readonly Path[] {
  const wanted = shown === "all" ? paths : paths.filter(({ denies }) => denies === (shown === "denied"));
  if (focus === undefined) return wanted;
  const { leaf, sourceKeys } = focus;
  return wanted.flatMap((path): readonly Path[] => {
    if (sourceKeys !== undefined) {
      const sources = path.sources.filter(({ key }) => sourceKeys.has(key));
      return sources.length === 0 ? [] : [{ ...path, sources }];
    }
    switch (leaf.kind) {
      case "policy":
        return path.policy.key === leaf.key ? [path] : [];
      case "resource": {
        const meant = path.resources.some(({ key }) => key === leaf.key || key === allResources.key);
        return meant ? [{ ...path, resources: [leaf] }] : [];
      }
      default: {
        const { sources, resources } = path;
        if (sources.some(({ key }) => key === leaf.key)) return [{ ...path, sources: [leaf] }];
        if (resources.some(({ key }) => key === leaf.key)) return [{ ...path, resources: [leaf] }];
        const reached = resources.filter((resource) => path.gatewaysOf(resource).some(({ key }) => key === leaf.key));
        return reached.length === 0 ? [] : [{ ...path, resources: reached, gatewaysOf: () => [leaf] }];
      }
    }
  });
}
