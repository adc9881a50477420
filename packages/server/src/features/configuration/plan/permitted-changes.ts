/** The parts of a configuration that a caller may read and change. */
import type { Permission, RoleType } from "@gatehouse/contract/permissions";
import { type Configuration, type ConfiguredKind, configuredKinds } from "@gatehouse/contract/records/configuration";
import type { Work } from "@gatehouse/policy/work";
import { authorize } from "../../../platform/authorization/granted.ts";
import { changedItems } from "../../../platform/changed-items.ts";
import { refuseGroupChangeBeyond } from "../../groups/groups.api.ts";
import { requireEveryPermission } from "../../identity-providers/identity-providers.api.ts";
import { refuseGrantsBeyond } from "../../roles/roles.api.ts";
import type { Sections } from "../document/document-entries.ts";
import { smallRecordCost } from "../document/record-costs.ts";
import type { SettingsOf } from "../document/settings.ts";
import type { NextRecords } from "./next-records.ts";
import type { RecordChange, RecordChanges } from "./plan-changes.ts";

const nounOf = {
  group: "groups",
  user: "users",
  protocol: "protocols",
  gateway: "gateways",
  resource: "resources",
  "admission-rule": "admission-rules",
  policy: "policies",
  "identity-provider": "identity-providers",
  "tenant-settings": "settings",
} as const satisfies Record<ConfiguredKind, string>;

/** The kinds of record that the caller may read. */
export function readableKinds(held: ReadonlySet<Permission>): Sections {
  return new Set(configuredKinds.filter((kind) => held.has(`${nounOf[kind]}:read`)));
}

/** @throws AppError permission_denied, naming the permission to read a kind of record in the document */
export function requireReading(held: ReadonlySet<Permission>, document: Configuration): void {
  for (const kind of kindsIn(document)) authorize(held, `${nounOf[kind]}:read`);
}

function kindsIn(document: Configuration): readonly ConfiguredKind[] {
  const present: Readonly<Record<ConfiguredKind, unknown>> = {
    group: document.groups,
    user: document.users,
    protocol: document.protocols,
    gateway: document.gateways,
    resource: document.resources,
    "admission-rule": document.admissionRules,
    policy: document.policies ?? document.defaultInternetPolicy,
    "identity-provider": document.identityProviders,
    "tenant-settings": document.settings,
  };
  return configuredKinds.filter((kind) => present[kind] !== undefined);
}

/**
 * Requires the permission to write each kind of record that changes. Implied changes need none, as with single
 * deletions.
 *
 * @throws AppError permission_denied, naming the missing permission
 */
export function requireWriting(held: ReadonlySet<Permission>, changes: RecordChanges): void {
  for (const kind of configuredKinds) {
    const own: readonly { readonly implied: boolean }[] = changes[kind];
    if (own.some(({ implied }) => !implied)) authorize(held, `${nounOf[kind]}:write`);
  }
}

/**
 * Refuses to give or take rights that the caller lacks: by a role, by membership in a group with a role, by letting
 * single sign-on change the members of such a group (0245), or by a provider that decides who signs in as whom (0094).
 * Also refuses to delete users who hold such rights (0222).
 *
 * @throws AppError grants_exceed_caller
 */
export function* requireOwnRights(
  held: ReadonlySet<Permission>,
  changes: RecordChanges,
  next: NextRecords,
): Work<void> {
  if (changes["identity-provider"].some((change) => change.action !== "delete" && change.after.enabled)) {
    requireEveryPermission(held);
  }
  for (const change of changes.group) {
    yield smallRecordCost;
    refuseGroupChangeBeyond(settingsBefore(change), settingsAfter(change), held);
  }
  const roles = new Set<RoleType>();
  const groups = new Set<string>();
  for (const change of changes.user) {
    yield smallRecordCost;
    const [before, after] = [settingsBefore(change), settingsAfter(change)];
    for (const role of changedItems(before?.roles ?? [], after?.roles ?? [])) roles.add(role);
    for (const group of changedItems(before?.groups ?? [], after?.groups ?? [])) groups.add(group);
  }
  for (const role of roles) refuseGrantsBeyond(`The role ${role}`, [role], held);
  // The roles of deleted groups were checked above.
  for (const group of groups) {
    refuseGrantsBeyond(`Membership in the group ${group}`, next.group.get(group)?.settings.roles ?? [], held);
  }
}

function settingsBefore<K extends ConfiguredKind>(change: RecordChange<K>): SettingsOf[K] | undefined {
  return change.action === "create" ? undefined : change.before;
}

function settingsAfter<K extends ConfiguredKind>(change: RecordChange<K>): SettingsOf[K] | undefined {
  return change.action === "delete" ? undefined : change.after;
}
