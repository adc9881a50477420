/** What a key may do, and what each role grants. `role-permissions.txt` in the repository is the reviewed picture of it. */

const nouns = [
  "users",
  "devices",
  "groups",
  "roles",
  "gateways",
  "resources",
  "addresses",
  "protocols",
  "admission-rules",
  "policies",
  "access-tests",
  "api-keys",
  "configuration",
  "webhooks",
] as const;

type Noun = (typeof nouns)[number];

/** One right over one kind of record in a tenant. */
export type Permission = `${Noun}:${"read" | "write"}` | "gateways:token" | "events:read" | "decisions:read";

/** Every permission there is, in the order in which documents list them. */
export const permissions: readonly Permission[] = [
  ...nouns.flatMap((noun): Permission[] => [`${noun}:read`, `${noun}:write`]),
  "gateways:token",
  "events:read",
  "decisions:read",
];

/** The types of role; each tenant has one system role of each. */
export const roleTypes = ["OWNER", "ADMIN", "DEFAULT", "BASIC", "BILLING", "AUDITOR", "SUPPORT"] as const;
export type RoleType = (typeof roleTypes)[number];

/**
 * The types of role, the most privileged first: the order in which roles are shown, and the one role that stands for
 * several where only one can. No role stands behind one whose permissions it has all of, and more.
 */
export const rolesByPrivilege: readonly RoleType[] = [
  "OWNER",
  "ADMIN",
  "SUPPORT",
  "AUDITOR",
  "BASIC",
  "BILLING",
  "DEFAULT",
];

const reading = permissions.filter((permission) => permission.endsWith(":read"));
/** Where secrets and the record of changes go is no part of the network, nor is reading all of it at once. */
const readingAdministration: readonly Permission[] = [
  "events:read",
  "api-keys:read",
  "configuration:read",
  "webhooks:read",
];
const readingTheNetwork = reading.filter((permission) => !readingAdministration.includes(permission));

/**
 * The permissions that each type of role grants.
 *
 * OWNER and ADMIN do everything; what sets the owner apart is that there is exactly one and that the role cannot be
 * assigned. SUPPORT helps people with their accounts and devices. AUDITOR reads everything and changes nothing.
 * BILLING counts seats. BASIC looks at the network. DEFAULT, which every user has, administers nothing.
 */
export const rolePermissions: Readonly<Record<RoleType, readonly Permission[]>> = {
  OWNER: permissions,
  ADMIN: permissions,
  SUPPORT: [...readingTheNetwork, "users:write", "devices:write"],
  AUDITOR: reading,
  BILLING: ["users:read", "devices:read", "groups:read"],
  BASIC: readingTheNetwork,
  DEFAULT: [],
};
