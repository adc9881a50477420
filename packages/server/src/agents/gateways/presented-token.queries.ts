import type { Database } from "../../platform/db/database.ts";
import { statement } from "../../platform/db/statement.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";

export interface PresentedTokenRow {
  readonly tenant_id: string;
  readonly gateway_id: string;
  /** When the token ends; null for the present one. */
  readonly ends_at: string | null;
}

const selectPresented = statement<PresentedTokenRow, [tokenHash: Buffer]>(
  "gateway_link.presented_token",
  `SELECT tenant_id, id AS gateway_id, NULL AS ends_at FROM gateways WHERE token_hash = $1
   UNION ALL SELECT tenant_id, gateway_id, ends_at FROM former_gateway_tokens WHERE token_hash = $1`,
);

/** The gateway that a token is of, whatever its tenant; undefined where it is nobody's. Whether it has ended is for the caller to see. */
export async function findPresentedToken(database: Database, hash: Buffer): Promise<PresentedTokenRow | undefined> {
  const scope = { kind: "presented-key", keyHash: hash.toString("hex") } as const;
  return (await database.snapshot(scope, ({ query }) => query(selectPresented, hash)))[0];
}

const selectOfGateways = statement<
  { gateway_id: string; token_hash: Buffer; ends_at: string | null },
  [tenantId: string, ids: readonly string[]]
>(
  "gateway_link.tokens",
  `SELECT id AS gateway_id, token_hash, NULL AS ends_at FROM gateways WHERE tenant_id = $1 AND id = ANY ($2::uuid[])
   UNION ALL SELECT gateway_id, token_hash, ends_at FROM former_gateway_tokens
   WHERE tenant_id = $1 AND gateway_id = ANY ($2::uuid[])`,
);

/** Of each gateway that there still is, the hashes of its tokens in hexadecimal, with their ends in milliseconds; Infinity for the present one. */
export async function tokensOfGateways(
  tx: TenantTx,
  ids: readonly string[],
): Promise<ReadonlyMap<string, ReadonlyMap<string, number>>> {
  const tokens = new Map<string, Map<string, number>>();
  for (const { gateway_id: id, token_hash: hash, ends_at: endsAt } of await tx.query(
    selectOfGateways,
    tx.tenantId,
    ids,
  )) {
    const own = tokens.get(id) ?? new Map<string, number>();
    tokens.set(id, own.set(hash.toString("hex"), endsAt === null ? Number.POSITIVE_INFINITY : Date.parse(endsAt)));
  }
  return tokens;
}
