/** What a caller may read and change of a configuration. */
import type { Permission } from "@gatehouse/contract/permissions";
import { type Configuration, type ConfiguredKind, configuredKinds } from "@gatehouse/contract/records/configuration";
import { authorize } from "../../../platform/authorization/granted.ts";
import { refuseGrantsBeyond } from "../../roles/roles.api.ts";
import type { Sections } from "../document/document-entries.ts";
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
} as const satisfies Record<ConfiguredKind, string>;

/** The kinds of record that a key may read. */
export function readableKinds(held: ReadonlySet<Permission>): Sections {
  return new Set(configuredKinds.filter((kind) => held.has(`${nounOf[kind]}:read`)));
}

/** @throws AppError permission_denied, naming the right to read a kind of record that the document speaks of */
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
  };
  return configuredKinds.filter((kind) => present[kind] !== undefined);
}

/**
 * What deleting a record takes off others is no change of theirs, as where it is deleted by itself.
 *
 * @throws AppError permission_denied, naming the right to write a kind of record that changes
 */
export function requireWriting(held: ReadonlySet<Permission>, changes: RecordChanges): void {
  for (const kind of configuredKinds) {
    const own: readonly { readonly implied: boolean }[] = changes[kind];
    if (own.some(({ implied }) => !implied)) authorize(held, `${nounOf[kind]}:write`);
  }
}

/**
 * Nobody gives rights that they do not hold: by a role, by membership in a group whose members inherit one, or by letting
 * single sign-on put users into such a group (0015).
 *
 * @throws AppError grants_exceed_caller
 */
export function requireOwnRights(held: ReadonlySet<Permission>, changes: RecordChanges, next: NextRecords): void {
  const roles = new Set([
    ...changes.group.flatMap((change) => gained(change, (group) => group.roles)),
    ...changes.user.flatMap((change) => gained(change, (user) => user.roles)),
  ]);
  for (const role of roles) refuseGrantsBeyond(`The role ${role}`, [role], held);
  const opened = new Set([
    ...changes.user.flatMap((change) => gained(change, (user) => user.groups)),
    ...changes.group.filter(opensFurther).map(({ key }) => key),
  ]);
  for (const group of opened) {
    refuseGrantsBeyond(`Membership in the group ${group}`, next.group.get(group)?.settings.roles ?? [], held);
  }
}

/** Whether single sign-on puts users into the group whom it did not put there before. */
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
