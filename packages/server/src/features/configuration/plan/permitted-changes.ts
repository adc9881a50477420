/** The parts of a configuration that a caller may read and change. */
import type { Permission, RoleType } from "@gatehouse/contract/permissions";
import { type Configuration, type ConfiguredKind, configuredKinds } from "@gatehouse/contract/records/configuration";
import type { Work } from "@gatehouse/policy/work";
import { authorize } from "../../../platform/authorization/granted.ts";
import { requireEveryPermission } from "../../identity-providers/identity-providers.api.ts";
import { refuseGrantsBeyond } from "../../roles/roles.api.ts";
import type { Sections } from "../document/document-entries.ts";
import { smallRecordCost } from "../document/record-costs.ts";
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
 * Refuses to grant rights that the caller lacks: by a role, by membership in a group with a role, by letting single
 * sign-on add users to such a group (0015), or by a provider that decides who signs in as whom (0094). Also refuses to
 * take such rights from users, or to delete these users (0222).
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
  const roles = new Set<RoleType>();
  const opened = new Set<string>();
  for (const change of changes.group) {
    yield smallRecordCost;
    for (const role of gained(change, (group) => group.roles)) roles.add(role);
  }
  for (const change of changes.user) {
    yield smallRecordCost;
    for (const role of [...gained(change, (user) => user.roles), ...lost(change, (user) => user.roles)])
      roles.add(role);
    for (const group of gained(change, (user) => user.groups)) opened.add(group);
    for (const group of lost(change, (user) => user.groups)) opened.add(group);
  }
  for (const role of roles) refuseGrantsBeyond(`The role ${role}`, [role], held);
  for (const change of changes.group) if (opensFurther(change)) opened.add(change.key);
  for (const group of opened) {
    refuseGrantsBeyond(`Membership in the group ${group}`, next.group.get(group)?.settings.roles ?? [], held);
  }
}

/** Whether single sign-on can add users to the group that it could not add before. */
function opensFurther(change: RecordChange<"group">): boolean {
  const marked = gained(change, ({ isSamlDefaultGroup }) => (isSamlDefaultGroup ? [true] : []));
  return marked.length + gained(change, ({ idpMapping }) => idpMapping).length > 0;
}

function gained<K extends "group" | "user", T>(
  change: RecordChange<K>,
  of: (settings: NonNullable<Extract<RecordChange<K>, { action: "create" }>["after"]>) => readonly T[],
): readonly T[] {
  if (change.action === "delete") return [];
  const before = new Set(change.action === "update" ? of(change.before) : []);
  return of(change.after).filter((item) => !before.has(item));
}

/** The roles or groups that the document takes from a user. Deleted groups need only the permission to delete them. */
function lost<T>(
  change: RecordChange<"user">,
  of: (settings: Extract<RecordChange<"user">, { action: "delete" }>["before"]) => readonly T[],
): readonly T[] {
  if (change.action === "create" || change.implied) return [];
  const after = new Set(change.action === "update" ? of(change.after) : []);
  return of(change.before).filter((item) => !after.has(item));
}
