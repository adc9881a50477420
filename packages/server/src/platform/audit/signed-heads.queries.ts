/** Compares signed heads with the database. All queries require the operator's scope. */
import type { Transaction } from "../db/database.ts";
import { statement } from "../db/statement.ts";
import type { Signed } from "./signatures.ts";
import type { HeadLine } from "./signed-heads.ts";

/** The state of the database at the place of a signed head. */
export interface HeadState {
  readonly tenantId: string;
  readonly tenantExists: boolean;
  /** Whether the operator deleted the tenant. */
  readonly isDeleted: boolean;
  /** The hash of the seal at the head's generation, in hexadecimal, or null. */
  readonly sealHash: string | null;
  /** The hash that a checkpoint at the head's position signs, in hexadecimal, or null. */
  readonly checkpointHash: string | null;
  /** The stub that replaces pruned entries. */
  readonly stub: Signed | null;
}

const signature = (alias: string) => `translate(encode(${alias}.signature, 'base64'), E'\\n', '')`;

const selectStates = statement<
  HeadState,
  [tenantIds: readonly string[], positions: readonly number[], generations: readonly number[]]
>(
  "audit.head_states",
  `SELECT head.id AS "tenantId", tenant.tenant_id IS NOT NULL AS "tenantExists",
     tenant.tenant_id IS NULL AND EXISTS (
       SELECT FROM operator_events AS event WHERE event.tenant_id = head.id AND event.operation = 'deleteTenant'
     ) AS "isDeleted",
     encode(seal.hash, 'hex') AS "sealHash", encode(checkpoint.hash, 'hex') AS "checkpointHash",
     CASE WHEN stub.tenant_id IS NOT NULL THEN json_build_object('position', stub.position,
       'generation', stub.generation, 'hash', encode(stub.hash, 'hex'),
       'createdAt', to_char(stub.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
       'signature', ${signature("stub")}) END AS stub
   FROM unnest($1::uuid[], $2::bigint[], $3::bigint[]) AS head (id, position, generation)
   LEFT JOIN tenant_generations AS tenant ON tenant.tenant_id = head.id
   LEFT JOIN audit_seals AS seal ON seal.tenant_id = head.id AND seal.generation = head.generation
   LEFT JOIN audit_checkpoints AS checkpoint ON checkpoint.tenant_id = head.id AND checkpoint.position = head.position
   LEFT JOIN audit_stubs AS stub ON stub.tenant_id = head.id`,
);
const selectLatest = statement<Signed & { readonly tenantId: string }, [afterTenantId: string, limit: number]>(
  "audit.latest_checkpoints",
  `SELECT tenant.tenant_id AS "tenantId", latest.position, latest.generation, encode(latest.hash, 'hex') AS hash,
     latest.created_at AS "createdAt", ${signature("latest")} AS signature
   FROM (SELECT tenant_id FROM tenant_generations WHERE tenant_id > $1 ORDER BY tenant_id LIMIT $2) AS tenant
   CROSS JOIN LATERAL (
     SELECT * FROM audit_checkpoints AS signed WHERE signed.tenant_id = tenant.tenant_id ORDER BY position DESC LIMIT 1
   ) AS latest ORDER BY tenant.tenant_id`,
);
const selectTenantsAfter = statement<{ id: string }, [afterTenantId: string, limit: number]>(
  "audit.tenants_with_records",
  "SELECT tenant_id AS id FROM tenant_generations WHERE tenant_id > $1 ORDER BY tenant_id LIMIT $2",
);

/** A head that the operator accepted although it contradicts a signed one. */
export interface AcceptedHead extends Signed {
  readonly reason: string;
}

const selectAccepted = statement<AcceptedHead, [recordId: string]>(
  "audit.accepted_head",
  `SELECT position, generation, encode(hash, 'hex') AS hash, reason, created_at AS "createdAt",
     ${signature("accepted")} AS signature
   FROM audit_accepted_heads AS accepted WHERE record_id = $1 ORDER BY created_at DESC LIMIT 1`,
);
const insertAccepted = statement<
  never,
  [
    recordId: string,
    createdAt: string,
    position: number,
    generation: number,
    hash: string,
    reason: string,
    signature: string,
  ]
>(
  "audit.accept_head",
  `INSERT INTO audit_accepted_heads (record_id, created_at, position, generation, hash, reason, signature)
   VALUES ($1, $2, $3, $4, decode($5, 'hex'), $6, decode($7, 'base64'))`,
);

export function headStates(transaction: Transaction, heads: readonly HeadLine[]): Promise<readonly HeadState[]> {
  return transaction.query(
    selectStates,
    heads.map(({ tenantId }) => tenantId),
    heads.map(({ position }) => position),
    heads.map(({ generation }) => generation),
  );
}

/** The latest checkpoints of up to `limit` tenants after an id, and the last of these ids; undefined: no more. */
export async function latestCheckpoints(
  transaction: Transaction,
  afterTenantId: string,
  limit: number,
): Promise<{ readonly checkpoints: readonly (Signed & { readonly tenantId: string })[]; readonly last?: string }> {
  const [checkpoints, tenants] = await Promise.all([
    transaction.query(selectLatest, afterTenantId, limit),
    transaction.query(selectTenantsAfter, afterTenantId, limit),
  ]);
  const last = tenants.at(-1)?.id;
  return { checkpoints, ...(last === undefined || tenants.length < limit ? {} : { last }) };
}

/** The latest acceptance of a record's head. Its signature is not checked. */
export async function acceptedHead(transaction: Transaction, recordId: string): Promise<AcceptedHead | undefined> {
  return (await transaction.query(selectAccepted, recordId))[0];
}

export async function insertAcceptedHead(
  transaction: Transaction,
  recordId: string,
  { position, generation, hash, reason, createdAt, signature: signed }: AcceptedHead,
): Promise<void> {
  await transaction.query(insertAccepted, recordId, createdAt, position, generation, hash, reason, signed);
}
