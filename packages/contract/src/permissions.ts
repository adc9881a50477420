/** The permissions of API keys and roles. `role-permissions.txt` in the repository shows them for review. */

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
  "settings",
  "identity-providers",
] as const;

type Noun = (typeof nouns)[number];

/** A permission for one kind of record in a tenant. */
export type Permission = `${Noun}:${"read" | "write"}` | "gateways:token" | "events:read" | "decisions:read";

/** Every permission, in the order in which documents list them. */
export const permissions: readonly Permission[] = [
  ...nouns.flatMap((noun): Permission[] => [`${noun}:read`, `${noun}:write`]),
  "gateways:token",
  "events:read",
  "decisions:read",
];

/** The role types. Each tenant has one system role of each type. */
export const roleTypes = ["OWNER", "ADMIN", "DEFAULT", "BASIC", "BILLING", "AUDITOR", "SUPPORT"] as const;
export type RoleType = (typeof roleTypes)[number];

/**
 * The role types, the most privileged first. Roles are listed in this order, and the first of several represents them
 * if only one can be shown. A role comes before each role whose permissions are a strict subset of its permissions.
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

const reads = permissions.filter((permission) => permission.endsWith(":read"));
/**
 * Read permissions that are not part of the network: credentials, the audit record, webhooks, the tenant's settings,
 * and the configuration as a whole.
 */
const administrationReads: readonly Permission[] = [
  "events:read",
  "api-keys:read",
  "configuration:read",
  "webhooks:read",
  "settings:read",
  "identity-providers:read",
];
const networkReads = reads.filter((permission) => !administrationReads.includes(permission));

/**
 * The permissions of each role type.
 *
 * OWNER and ADMIN can do everything. The tenant has exactly one owner, and the OWNER role cannot be assigned. SUPPORT
 * helps users with their accounts and devices. AUDITOR reads everything and changes nothing. BILLING counts seats.
 * BASIC reads the network. DEFAULT, which every user has, has no permissions.
 */
export const rolePermissions: Readonly<Record<RoleType, readonly Permission[]>> = {
  OWNER: permissions,
  ADMIN: permissions,
  SUPPORT: [...networkReads, "users:write", "devices:write"],
  AUDITOR: reads,
  BILLING: ["users:read", "devices:read", "groups:read"],
  BASIC: networkReads,
  DEFAULT: [],
};
