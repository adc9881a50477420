import { type IpRange, parseIpRange, rangeContains } from "@gatehouse/addresses/ip-ranges";
import { type Permission, permissions, type RoleType, rolePermissions } from "@gatehouse/contract/permissions";
import type { ProblemField } from "@gatehouse/contract/problem";
import type { KeyLimits } from "../../platform/authorization/key-limits.ts";

/** The grants of a key: its permissions and its limits. */
export interface KeyGrants extends KeyLimits {
  readonly permissions: readonly Permission[];
}

interface PermissionsRequest {
  readonly permissions?: readonly Permission[];
  readonly role?: RoleType;
}

/** The number of addresses that a sentence names before it counts the rest. */
const namedAddresses = 5;

/** The permissions that a request grants, by a list or a role, in their documented order. */
export function namedPermissions({ permissions: listed = [], role }: PermissionsRequest): readonly Permission[] {
  const named = new Set([...listed, ...(role === undefined ? [] : rolePermissions[role])]);
  return permissions.filter((permission) => named.has(permission));
}

/** The problem if a key has neither a list of permissions nor a role, or has both. */
export function permissionsProblem({ permissions: listed, role }: PermissionsRequest): ProblemField | undefined {
  if ((listed === undefined) === (role === undefined)) {
    return { pointer: "/permissions", message: "give either permissions or role" };
  }
  return role !== undefined && rolePermissions[role].length === 0
    ? { pointer: "/role", message: `the role ${role} grants no permission` }
    : undefined;
}

/**
 * Sentences for each grant of a key that exceeds those of its creator.
 *
 * @param asked may hold invalid source addresses: they match no caller and are refused elsewhere
 * @param limits undefined for a creator without limits
 */
export function grantsBeyond(
  asked: KeyGrants,
  held: ReadonlySet<Permission>,
  limits: KeyLimits | undefined,
): readonly string[] {
  const unheld = asked.permissions.filter((permission) => !held.has(permission));
  return [
    ...(unheld.length === 0 ? [] : [`The calling key does not hold ${unheld.join(", ")} itself.`]),
    ...(limits === undefined ? [] : [...lifeBeyond(asked, limits), ...sourcesBeyond(asked, limits)]),
  ];
}

function lifeBeyond(asked: KeyLimits, held: KeyLimits): readonly string[] {
  if (held.expiresAt === null) return [];
  if (asked.expiresAt !== null && Date.parse(asked.expiresAt) <= Date.parse(held.expiresAt)) return [];
  const lives = asked.expiresAt === null ? "never would" : `would at ${asked.expiresAt}`;
  return [`The calling key expires at ${held.expiresAt}; the new one ${lives}.`];
}

/** A block that only several held blocks cover together counts as exceeding them, which is the safe direction. */
function sourcesBeyond(asked: KeyLimits, held: KeyLimits): readonly string[] {
  if (held.sourceIps.length === 0) return [];
  const only = `The calling key may only be used from ${listed(held.sourceIps)}`;
  if (asked.sourceIps.length === 0) return [`${only}; the new one could be from anywhere.`];
  const outer = held.sourceIps.flatMap(rangeOf);
  const beyond = asked.sourceIps.filter((text) =>
    rangeOf(text).some((range) => !outer.some((allowed) => rangeContains(allowed, range))),
  );
  return beyond.length === 0 ? [] : [`${only}; the new one could be from ${listed(beyond)}.`];
}

function rangeOf(text: string): readonly IpRange[] {
  const reading = parseIpRange(text.trim());
  return reading.ok ? [reading.value] : [];
}

function listed(texts: readonly string[]): string {
  const named = texts.slice(0, namedAddresses).join(", ");
  return texts.length > namedAddresses ? `${named} and ${texts.length - namedAddresses} more` : named;
}

/** The problem if the expiry of a key is not in the future. */
export function expiryProblem(expiresAt: string | undefined, now: Date): ProblemField | undefined {
  return expiresAt !== undefined && Date.parse(expiresAt) <= now.getTime()
    ? { pointer: "/expiresAt", message: `${expiresAt} is not in the future` }
    : undefined;
}
