/** The key under which the answer to a read is cached. */
import { createHash } from "node:crypto";
import type { Permission } from "@gatehouse/contract/permissions";
import type { ListQuery } from "./list-query.ts";

/** The parts of a read that its answer depends on. */
interface Question {
  readonly operation: { readonly id: string };
  readonly parameters: Readonly<Record<string, string>>;
  readonly listQuery: ListQuery | undefined;
  readonly query: Readonly<Record<string, string>>;
  readonly permissions: ReadonlySet<Permission>;
}

/** Identifies everything that the answer to a read depends on, except for the state of the tenant and the time. */
export function questionOf(tenantId: string, question: Question): string {
  const { operation, parameters, listQuery, query, permissions } = question;
  const { limit, offset, after, sort = [], filters = [] } = listQuery ?? {};
  const asked = [Object.values(parameters), limit, offset, after, sort, filters, Object.entries(query)];
  return `${tenantId} ${operation.id} ${fingerprintOf(permissions)} ${JSON.stringify(asked)}`;
}

const fingerprints = new WeakMap<ReadonlySet<Permission>, string>();

/** Equal for equal sets of permissions. */
function fingerprintOf(permissions: ReadonlySet<Permission>): string {
  let fingerprint = fingerprints.get(permissions);
  if (fingerprint === undefined) {
    fingerprint = createHash("sha256")
      .update([...permissions].sort().join(" "))
      .digest("base64url");
    fingerprints.set(permissions, fingerprint);
  }
  return fingerprint;
}
