import { AppError } from "../app-error.ts";
import type { Clock } from "../clock.ts";
import type { Database } from "../db/database.ts";
import type { Log } from "../log.ts";
import type { AuditKeys } from "./audit-keys.ts";
import { grownChains, insertCheckpoint, latestCheckpoint } from "./checkpoints.queries.ts";
import type { HeadGuard } from "./head-guard.ts";
import { insertOperatorCheckpoint, lastOperatorPlace, operatorCheckpoint } from "./operator-record.queries.ts";
import { noEnd, readPositionBefore } from "./record.queries.ts";
import type { ChainPosition } from "./signatures.ts";
import { operatorRecord } from "./signed-heads.ts";

const tenantsAtOnce = 500;
const nilUuid = "00000000-0000-0000-0000-000000000000";

export interface CheckpointOptions {
  readonly database: Database;
  readonly keys: AuditKeys;
  readonly guard: HeadGuard;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Signs the head of every chain that has grown since its last checkpoint. Safe on every replica: a replica that comes
 * second finds the place signed.
 *
 * A chain that contradicts a head that was signed before is not signed again, because the signature would cover up that
 * the chain was rewritten.
 *
 * If one chain cannot be signed, the others are still signed.
 *
 * @throws AppError database_unavailable; the first of the other errors, after all chains were tried
 */
export async function signCheckpoints(options: CheckpointOptions): Promise<void> {
  const { database, guard, keys, clock, log } = options;
  await keys.refresh(clock.now());
  await guard.check();
  const failures: unknown[] = [];
  const attempt = async (tenantId: string, sign: () => Promise<void>) => {
    try {
      await sign();
    } catch (error) {
      // Every other chain would fail in the same way.
      if (error instanceof AppError) throw error;
      log.error({ err: error, tenantId }, "failed to sign the head of an audit record; will retry");
      failures.push(error);
    }
  };
  await attempt(operatorRecord, () => signOperatorHead(options));
  let after = nilUuid;
  for (;;) {
    const tenants = await grownChains(database, after, tenantsAtOnce);
    for (const tenantId of tenants) await attempt(tenantId, () => signHead(options, tenantId));
    const last = tenants.at(-1);
    if (last === undefined || tenants.length < tenantsAtOnce) break;
    after = last;
  }
  if (failures.length > 0) throw failures[0];
}

async function signHead({ database, guard, keys, clock, log }: CheckpointOptions, tenantId: string): Promise<void> {
  const { broken, signed } = await database.transaction({ kind: "operator", tenantId }, async (transaction) => {
    const tx = { tenantId, query: transaction.query };
    const latest = await latestCheckpoint(tx);
    const head = await readPositionBefore(tx, noEnd);
    if (latest !== undefined && latest.sealHash !== latest.hash) return { broken: latest };
    if (head === undefined || head.position <= (latest?.position ?? 0)) return {};
    // The check of all heads has logged the contradiction.
    if ((await guard.contradictionIn(transaction, tenantId)) !== undefined) return {};
    await insertCheckpoint(tx, keys.signer.sign("checkpoint", tenantId, head, clock.now()));
    return { signed: head };
  });
  if (signed !== undefined) await guard.signed(tenantId, signed);
  if (broken !== undefined) {
    const { position } = broken;
    const message = "the audit record is not the one that was signed; run gatehouse audit verify";
    log.error({ tenantId, position }, message);
  }
}

async function signOperatorHead({ database, guard, keys, clock }: CheckpointOptions): Promise<void> {
  const signed = await database.transaction(
    { kind: "operator" },
    async (transaction): Promise<ChainPosition | undefined> => {
      const [head, latest] = await Promise.all([lastOperatorPlace(transaction), operatorCheckpoint(transaction)]);
      if (head === undefined || head.position <= (latest?.position ?? 0)) return undefined;
      if ((await guard.contradictionIn(transaction, operatorRecord)) !== undefined) return undefined;
      await insertOperatorCheckpoint(transaction, keys.signer.sign("checkpoint", operatorRecord, head, clock.now()));
      return head;
    },
  );
  if (signed !== undefined) await guard.signed(operatorRecord, signed);
}
