import type { Clock } from "../clock.ts";
import { allSettled } from "../concurrency/all-settled.ts";
import type { TenantRounds } from "../concurrency/tenant-rounds.ts";
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

export interface CheckpointOptions {
  readonly database: Database;
  readonly keys: AuditKeys;
  readonly guard: HeadGuard;
  readonly clock: Clock;
  readonly log: Log;
  readonly rounds: TenantRounds;
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
 * @throws as `TenantRounds.runPages`
 */
export async function signCheckpoints(options: CheckpointOptions): Promise<void> {
  const { database, guard, keys, clock, rounds } = options;
  await keys.refresh(clock.now());
  await guard.check();
  await allSettled([
    signOperatorHead(options),
    rounds.runPages(
      (after) => grownChains(database, after, tenantsAtOnce),
      (tenantId, waitMs) => signHead(options, tenantId, waitMs),
    ),
  ]);
}

async function signHead(
  { database, guard, keys, clock, log }: CheckpointOptions,
  tenantId: string,
  waitMs: number,
): Promise<void> {
  const { broken, signed } = await database.transaction({ kind: "operator", tenantId, waitMs }, async (transaction) => {
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
