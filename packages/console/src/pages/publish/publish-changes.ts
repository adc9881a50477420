/** The change set that publishes a resource: its protocol, gateway, resource, conditions and policy. */
import type { ItemAt } from "@gatehouse/client/calls";
import { paged, whole } from "../../app/api.ts";
import { t } from "../../messages/i18n.ts";
import type { PlannedChange } from "../../records/planned-change.ts";
import { readDestination } from "../../records/read-destination.ts";
import { type Condition, writeRule } from "../../records/rule-conditions.ts";
import type { Hours } from "../../records/time-fields.tsx";

export interface Publication {
  /** The address as a person wrote it. */
  readonly address: string;
  readonly name: string;
  /** Id of an existing gateway; empty for a new one. */
  readonly gateway: string;
  readonly gatewayName: string;
  readonly everyone: boolean;
  readonly groups: readonly string[];
  readonly needsEncryptedDisk: boolean;
  readonly needsOfficeHours: boolean;
  /** The office hours, from Monday to Friday. */
  readonly hours: Hours;
}

export type Protocol = ItemAt<"/tenants/protocols">;

const workdays = [1, 2, 3, 4, 5] as const;

const wireguardPort = "51820";

const policies = paged("/tenants/policies");
const admissionRules = whole("/tenants/admission-rules");
/** Policies with generated names for one resource. */
const mostPolicies = 50;

/** Returns no changes while the address cannot be read. */
export function publishChanges(given: Publication, protocols: readonly Protocol[]): readonly PlannedChange[] {
  const resource = resourceChanges(given, protocols);
  return resource.length === 0 ? [] : [...resource, ...policyChanges(given, "@resource")];
}

/** The changes that create the resource and connect it to its gateway. None while the address cannot be read. */
export function resourceChanges(
  given: Pick<Publication, "address" | "name" | "gateway" | "gatewayName">,
  protocols: readonly Protocol[],
): readonly PlannedChange[] {
  const destination = readDestination(given.address);
  if (destination === undefined) return [];
  const { name, gateway, gatewayName } = given;
  const known = protocolFor(protocols, destination.port);
  return [
    ...(known === undefined ? [newProtocol(destination.port)] : []),
    ...(gateway === "" ? [create("gateway", "gateways", { name: gatewayName, wireguardPort })] : []),
    create("resource", "resources", {
      name,
      type: "PRIVATE",
      addresses: [{ address: destination.address, protocols: [known?.id ?? "@protocol"] }],
    }),
    { method: "PUT", path: `/tenants/resources/@resource/gateways/${gateway === "" ? "@gateway" : gateway}` },
  ];
}

/** The people who reach the resource, and the conditions. */
export type Access = Pick<Publication, "everyone" | "groups" | "needsEncryptedDisk" | "needsOfficeHours" | "hours">;

/**
 * The changes that create the policy and its admission rule.
 *
 * @param resource the id, or a reference such as `@resource`
 */
export function policyChanges(given: Access & { readonly name: string }, resource: string): readonly PlannedChange[] {
  const { name, everyone, groups } = given;
  const rule = ruleOf(given);
  return [
    ...(rule === ""
      ? []
      : [
          create("rule", "admission-rules", {
            name: t("publish.ruleName", { name }),
            rule,
            hasTimeConstraint: given.needsOfficeHours,
          }),
        ]),
    create("policy", "policies", {
      name: t("publish.policyName", { name }),
      type: "PRIVATE",
      action: true,
      ...(everyone ? { allUsers: true } : { groups: [...groups] }),
      resources: [resource],
      ...(rule === "" ? {} : { rule: "@rule" }),
    }),
  ];
}

/**
 * Returns the resource's name, with a number if a policy or an admission rule already has the name that
 * `policyChanges` would give it. Both names are unique in the tenant.
 */
export async function findFreeName(name: string, access: Access, signal: AbortSignal): Promise<string> {
  const rules = ruleOf(access) === "" ? [] : await admissionRules.read(signal);
  const ruleNames = new Set(rules.map((rule) => rule.name));
  for (let number = 1; number <= mostPolicies; number += 1) {
    const numbered = number === 1 ? name : t("publish.numberedName", { name, number });
    if (ruleNames.has(t("publish.ruleName", { name: numbered }))) continue;
    const query = { "filter[name]": t("publish.policyName", { name: numbered }), limit: 1 };
    const { data } = await policies.read(query, signal);
    if (data.length === 0) return numbered;
  }
  return name;
}

function create(as: string, noun: string, body: object): PlannedChange {
  return { method: "POST", path: `/tenants/${noun}`, as, body };
}

/** The protocol with exactly this port, or the protocol of all ports. */
export function protocolFor(protocols: readonly Protocol[], port: number | undefined): Protocol | undefined {
  if (port === undefined) return protocols.find(({ type }) => type === "ALL");
  return protocols.find(
    ({ networkProtocols }) =>
      networkProtocols.some(({ protocol }) => protocol === "TCP") &&
      networkProtocols.every((each) => each.port === String(port)),
  );
}

function newProtocol(port: number | undefined): PlannedChange {
  const network =
    port === undefined ? [{ protocol: "TCP" }, { protocol: "UDP" }] : [{ protocol: "TCP", port: String(port) }];
  return create("protocol", "protocols", { networkProtocols: network });
}

/** The admission rule as CEL. Empty without conditions. */
export function ruleOf({ needsEncryptedDisk, needsOfficeHours, hours }: Access): string {
  const conditions: Condition[] = [];
  if (needsEncryptedDisk) {
    conditions.push({ kind: "posture", name: "diskEncrypted", comparison: "==", value: true });
  }
  if (needsOfficeHours) {
    conditions.push({ kind: "days", zone: hours.zone, days: workdays }, { kind: "hours", ...hours });
  }
  return writeRule({ match: "all", conditions });
}
