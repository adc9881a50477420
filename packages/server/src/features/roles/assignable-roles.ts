/** Rules for roles: callers grant and take only permissions that they hold, and nobody assigns the owner's role. */
import type { Permission, RoleType } from "@gatehouse/contract/permissions";
import { AppError, bodyField } from "../../platform/app-error.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import { canonicalIds, missingIds, refuseMissing } from "../references/references.api.ts";
import { existingRoleTypes } from "./roles.queries.ts";
import { permissionsBeyond } from "./roles.rules.ts";

/**
 * @param what the subject of the sentence that reports the excess: `The role SUPPORT`
 *
 * @param held the caller's permissions
 * @throws AppError grants_exceed_caller
 */
export function refuseGrantsBeyond(what: string, types: Iterable<RoleType>, held: ReadonlySet<Permission>): void {
  const beyond = permissionsBeyond(types, held);
  if (beyond.length === 0) return;
  throw new AppError("grants_exceed_caller", {
    detail: `${what} grants ${beyond.join(", ")}, which the calling key does not hold.`,
  });
}

/** Roles in a field of a body, to be granted to a user or a group. */
export interface AskedRoles {
  /** JSON Pointer of the list. */
  readonly pointer: string;
  readonly ids: readonly string[];
  /** Ids of roles that are already held. Leaving them unchanged grants nothing. */
  readonly present: ReadonlySet<string>;
}

/**
 * @param held the caller's permissions
 * @throws AppError unknown_reference, grants_exceed_caller, role_not_assignable
 */
export async function requireAssignable(
  tx: TenantTx,
  asked: readonly AskedRoles[],
  held: ReadonlySet<Permission>,
): Promise<void> {
  const types = await existingRoleTypes(tx, canonicalIds(asked.flatMap(({ ids }) => ids)));
  const existing = new Set(types.keys());
  refuseMissing(asked.flatMap(({ pointer, ids }) => missingIds({ pointer, noun: "role", ids }, existing)));
  const typeOf = (id: string) => types.get(id.toLowerCase()) ?? "OWNER"; // all exist, as checked above
  for (const { ids, present } of asked) {
    for (const id of ids) {
      if (!present.has(id.toLowerCase())) refuseGrantsBeyond(`The role ${typeOf(id)}`, [typeOf(id)], held);
    }
  }
  const errors = asked.flatMap(({ pointer, ids }) =>
    ids.flatMap((id, index) =>
      typeOf(id) === "OWNER" ? [bodyField(`${pointer}/${index}`, "is the owner's role")] : [],
    ),
  );
  if (errors.length > 0) throw new AppError("role_not_assignable", { errors });
}
