import { createHash } from "node:crypto";
import { AppError, bodyField } from "../../platform/app-error.ts";
import type { Granted } from "../../platform/authorization/granted.ts";
import type { Database } from "../../platform/db/database.ts";
import { withConstraints } from "../../platform/db/database-errors.ts";
import { statement } from "../../platform/db/statement.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";

export interface DomainRow {
  readonly id: string;
  readonly created_at: string;
  readonly updated_at: string;
  readonly version: number;
  readonly domain: string;
  readonly token: string;
  readonly verified_at: string | null;
}

const columns = "id, created_at, updated_at, version, domain, token, verified_at";

const selectMany = statement<DomainRow, [tenantId: string, afterId: string, limit: number]>(
  "domains.list",
  `SELECT ${columns} FROM tenant_domains WHERE tenant_id = $1 AND id > $2 ORDER BY id LIMIT $3`,
);
const selectOne = statement<DomainRow, [tenantId: string, id: string]>(
  "domains.read",
  `SELECT ${columns} FROM tenant_domains WHERE tenant_id = $1 AND id = $2`,
);
const selectForChange = statement<DomainRow, [tenantId: string, id: string]>(
  "domains.lock",
  `SELECT ${columns} FROM tenant_domains WHERE tenant_id = $1 AND id = $2 FOR UPDATE`,
);
const countAll = statement<{ count: number }, [tenantId: string]>(
  "domains.count",
  "SELECT count(*) AS count FROM tenant_domains WHERE tenant_id = $1",
);
const insert = statement<DomainRow, [tenantId: string, id: string, at: Date, domain: string, token: string]>(
  "domains.insert",
  `INSERT INTO tenant_domains (tenant_id, id, created_at, updated_at, domain, token) VALUES ($1, $2, $3, $3, $4, $5)
   ON CONFLICT (tenant_id, domain) DO NOTHING RETURNING ${columns}`,
);
const verify = statement<DomainRow, [tenantId: string, id: string, at: Date]>(
  "domains.verify",
  `UPDATE tenant_domains SET updated_at = $3, version = version + 1, verified_at = $3
   WHERE tenant_id = $1 AND id = $2 RETURNING ${columns}`,
);
const remove = statement<never, [tenantId: string, id: string]>(
  "domains.delete",
  "DELETE FROM tenant_domains WHERE tenant_id = $1 AND id = $2",
);
const selectVerified = statement<{ verified: boolean }, [tenantId: string, domain: string]>(
  "domains.is_verified",
  `SELECT EXISTS (
     SELECT FROM tenant_domains WHERE tenant_id = $1 AND domain = $2 AND verified_at IS NOT NULL
   ) AS verified`,
);
const selectPresentedSlug = statement<{ tenant_id: string }, [slug: string]>(
  "domains.presented_slug",
  "SELECT id AS tenant_id FROM tenants WHERE slug = $1",
);
const selectPresentedDomain = statement<{ tenant_id: string }, [domain: string]>(
  "domains.presented_domain",
  "SELECT tenant_id FROM tenant_domains WHERE domain = $1 AND verified_at IS NOT NULL",
);

/**
 * Finds the tenant with a slug or with a verified domain. Row-level security shows only this row.
 *
 * @param name in lower case
 */
export async function findNamedTenant(database: Database, name: string): Promise<string | undefined> {
  const keyHash = createHash("sha256").update(name).digest("hex");
  const rows = await database.snapshot({ kind: "presented-key", keyHash }, ({ query }) =>
    query(name.includes(".") ? selectPresentedDomain : selectPresentedSlug, name),
  );
  return rows[0]?.tenant_id;
}

/** Whether the tenant has proven that it owns the domain. */
export async function isVerifiedDomain(tx: TenantTx, domain: string): Promise<boolean> {
  return (await tx.query(selectVerified, tx.tenantId, domain))[0]?.verified === true;
}

export function listDomainRows(tx: TenantTx, afterId: string, limit: number): Promise<DomainRow[]> {
  return tx.query(selectMany, tx.tenantId, afterId, limit);
}

export async function readDomainRow(tx: TenantTx, id: string): Promise<DomainRow | undefined> {
  return (await tx.query(selectOne, tx.tenantId, id))[0];
}

/** Reads the domain. Nobody else can change it before the transaction ends. */
export async function lockDomain(tx: TenantTx, id: string): Promise<DomainRow | undefined> {
  return (await tx.query(selectForChange, tx.tenantId, id))[0];
}

export async function countDomains(tx: TenantTx): Promise<number> {
  return (await tx.query(countAll, tx.tenantId))[0]?.count ?? 0;
}

/** @throws AppError domain_taken if the tenant has the domain already */
export async function insertDomain(
  tx: TenantTx,
  _granted: Granted<"identity-providers:write">,
  { id, domain, token }: Pick<DomainRow, "id" | "domain" | "token">,
  at: Date,
): Promise<DomainRow> {
  const [row] = await tx.query(insert, tx.tenantId, id, at, domain, token);
  if (row === undefined) throw new AppError("domain_taken", { errors: [bodyField("/domain", "is listed already")] });
  return row;
}

/** @throws AppError domain_taken if another tenant has proven the domain */
export async function markVerified(
  tx: TenantTx,
  _granted: Granted<"identity-providers:write">,
  id: string,
  at: Date,
): Promise<DomainRow> {
  const [row] = await withConstraints(
    { tenant_domains_verified_unique: () => new AppError("domain_taken") },
    tx.query(verify, tx.tenantId, id, at),
  );
  if (row === undefined) throw new Error(`the domain ${id} is missing although it was locked`);
  return row;
}

export async function removeDomain(
  tx: TenantTx,
  _granted: Granted<"identity-providers:write">,
  id: string,
): Promise<void> {
  await tx.query(remove, tx.tenantId, id);
}
