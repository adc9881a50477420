import type { Clock } from "../clock.ts";
import type { Database } from "../db/database.ts";
import type { Log } from "../log.ts";
import { grownChains, insertCheckpoint, latestCheckpoint } from "./checkpoints.queries.ts";
import { noEnd, readPlaceBefore } from "./record.queries.ts";
import type { AuditSigner } from "./signatures.ts";

const tenantsAtOnce = 500;
const nilUuid = "00000000-0000-0000-0000-000000000000";

export interface CheckpointOptions {
  readonly database: Database;
  readonly signer: AuditSigner;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Signs the head of every chain that has grown since its last checkpoint. Safe on every replica: a replica that comes
 * second finds the place signed.
 *
 * A chain that no longer contains the last signed seal is not signed again, because the signature would cover up that
 * the chain was rewritten.
 */
export async function signCheckpoints(options: CheckpointOptions): Promise<void> {
  const { database } = options;
  let after = nilUuid;
  for (;;) {
    const tenants = await grownChains(database, after, tenantsAtOnce);
    for (const tenantId of tenants) await signHead(options, tenantId);
    const last = tenants.at(-1);
    if (last === undefined || tenants.length < tenantsAtOnce) return;
    after = last;
  }
}

async function signHead({ database, signer, clock, log }: CheckpointOptions, tenantId: string): Promise<void> {
  const broken = await database.transaction({ kind: "tenant", tenantId }, async (transaction) => {
    const tx = { tenantId, query: transaction.query };
    const latest = await latestCheckpoint(tx);
    const head = await readPlaceBefore(tx, noEnd);
    if (latest !== undefined && latest.sealHash !== latest.hash) return latest;
    if (head === undefined || head.position <= (latest?.position ?? 0)) return undefined;
    await insertCheckpoint(tx, signer.sign("checkpoint", tenantId, head, clock.now()));
    return undefined;
  });
  if (broken !== undefined) {
    const { position } = broken;
    const message = "the audit record is not the one that was signed; run gatehouse audit verify";
    log.error({ tenantId, position }, message);
  }
}
