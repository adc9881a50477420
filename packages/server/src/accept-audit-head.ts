/**
 * `gatehouse audit accept-head`: the deliberate exception after a restored backup. The current heads are signed, and
 * running servers accept them in place of later ones that they remember.
 */
import type { Config } from "./config.ts";
import { headsFileOf, requireMasterKeys } from "./master-keys.ts";
import { openUnmigrated } from "./open-database.ts";
import { AuditKeys } from "./platform/audit/audit-keys.ts";
import { insertCheckpoint, tenantsAfter } from "./platform/audit/checkpoints.queries.ts";
import { reasonHash } from "./platform/audit/head-guard.ts";
import {
  appendOperatorEntry,
  insertOperatorCheckpoint,
  lastOperatorPlace,
} from "./platform/audit/operator-record.queries.ts";
import { noEnd, readPositionBefore } from "./platform/audit/record.queries.ts";
import type { AuditSigner, ChainPosition } from "./platform/audit/signatures.ts";
import { insertAcceptedHead } from "./platform/audit/signed-heads.queries.ts";
import { operatorRecord, readHeads } from "./platform/audit/signed-heads.ts";
import { Database, type Transaction } from "./platform/db/database.ts";
import { newId } from "./platform/ids.ts";
import type { Log } from "./platform/log.ts";
import type { MasterKeys } from "./platform/secrets/master-key.ts";
import { explained } from "./verify-audit.ts";

const scope = { kind: "operator" } as const;
const noRecord: ChainPosition = { position: 0, generation: 0, hash: "0".repeat(64) };
const tenantsAtOnce = 500;

export interface AcceptOptions {
  /** The tenant whose head is accepted; undefined for all tenants and the operator's record. */
  readonly tenantId: string | undefined;
  readonly reason: string;
}

/** A head that was accepted. Position 0: the record is gone. */
export interface Accepted extends Pick<ChainPosition, "position" | "hash"> {
  readonly tenantId: string;
}

/** @throws StartError, EmbeddedPostgresError: each states what to do */
export async function acceptAuditHeads(config: Config, log: Log, options: AcceptOptions): Promise<readonly Accepted[]> {
  const masterKeys = await requireMasterKeys(config, log);
  const { connection, stop } = await openUnmigrated(config, log);
  try {
    const database = new Database({ connection, poolSize: 2, statementTimeoutMs: 60_000 });
    try {
      return await acceptHeadsIn(database, config, masterKeys, options);
    } catch (error) {
      throw explained(error, config);
    } finally {
      await database.close();
    }
  } finally {
    await stop();
  }
}

/** The same on an open database. */
export async function acceptHeadsIn(
  database: Database,
  config: Config,
  masterKeys: MasterKeys,
  options: AcceptOptions,
): Promise<readonly Accepted[]> {
  const keys = new AuditKeys(database, masterKeys);
  await keys.refresh(new Date());
  return acceptHeads(database, keys.signer, await recordsOf(database, config, options), options.reason);
}

/** The tenants to accept, and the operator's record last, because it records the acceptances. */
async function recordsOf(database: Database, config: Config, { tenantId }: AcceptOptions): Promise<readonly string[]> {
  if (tenantId !== undefined) return [tenantId];
  const found = new Set<string>(config.databaseUrl === undefined ? (await readHeads(headsFileOf(config))).keys() : []);
  for (let afterTenantId: string | undefined = operatorRecord; afterTenantId !== undefined; ) {
    const from: string = afterTenantId;
    const tenants = await database.snapshot(scope, (tx) => tenantsAfter(tx, from, tenantsAtOnce));
    for (const id of tenants) found.add(id);
    afterTenantId = tenants.at(-1);
  }
  found.delete(operatorRecord);
  return [...found, operatorRecord];
}

async function acceptHeads(
  database: Database,
  signer: AuditSigner,
  records: readonly string[],
  reason: string,
): Promise<readonly Accepted[]> {
  const accepted: Accepted[] = [];
  for (const recordId of records) {
    const at = new Date();
    const isOperator = recordId === operatorRecord;
    const inRecord = isOperator ? scope : ({ kind: "operator", tenantId: recordId } as const);
    const { position, hash } = await database.transaction(inRecord, async (tx) => {
      if (!isOperator) await record(tx, recordId, reason, at);
      const head = isOperator
        ? await record(tx, recordId, reason, at).then(() => lastOperatorPlace(tx))
        : await readPositionBefore({ tenantId: recordId, query: tx.query }, noEnd);
      if (head !== undefined) {
        const checkpoint = signer.sign("checkpoint", recordId, head, at);
        if (isOperator) await insertOperatorCheckpoint(tx, checkpoint);
        else await insertCheckpoint({ tenantId: recordId, query: tx.query }, checkpoint);
      }
      const place = head ?? noRecord;
      const { contentHash: _, ...statement } = signer.sign("acceptance", recordId, place, at, reasonHash(reason));
      await insertAcceptedHead(tx, recordId, { ...statement, reason });
      return place;
    });
    accepted.push({ tenantId: recordId, position, hash });
  }
  return accepted;
}

function record(transaction: Transaction, tenantId: string, reason: string, at: Date): Promise<void> {
  return appendOperatorEntry(transaction, { id: newId(), at, operation: "acceptAuditHead", tenantId, reason });
}
