/** The one way to change something: a transaction with its audit entry, its outbox entry and its stored reply. */
import { appendToRecord } from "./audit/audit.queries.ts";
import { type Entry, newEntry } from "./audit/entry.ts";
import type { EventStreams } from "./audit/event-streams.ts";
import type { AuditSigner } from "./audit/signatures.ts";
import type { Change, Origin } from "./change.ts";
import type { Clock } from "./clock.ts";
import type { Database, Scope, Transaction } from "./db/database.ts";
import { claimReply, type IdempotencyRequest, storeReply } from "./idempotency.queries.ts";
import { newId } from "./ids.ts";
import type { AllowedNetworks } from "./outbound/outbound-networks.ts";
import type { Outcome } from "./outcome.ts";
import type { RecordCache } from "./record-cache.ts";
import type { RecordReferences } from "./record-references.ts";
import type { SecretBox } from "./secrets/master-key.ts";
import { type AccessLedger, concernsAccess, type WeighedEffect } from "./tenancy/access-ledger.ts";
import type { GenerationReader } from "./tenancy/generation-reader.ts";
import { holdTenant } from "./tenancy/tenant-lock.queries.ts";
import type { TenantModels } from "./tenancy/tenant-models.ts";
import type { CommandTx } from "./tenancy/tenant-tx.ts";

/** The boxes of everything that is stored encrypted. */
export interface Secrets {
  /** Replies to requests with an Idempotency-Key. */
  readonly replies: SecretBox;
  readonly gatewayTokens: SecretBox;
  readonly webhookSecrets: SecretBox;
  /** The private parts of what configurations of gateways are signed with. */
  readonly signingKeys: SecretBox;
  /** A known text, by which a start with another master key is recognised. */
  readonly masterKeyCheck: SecretBox;
}

/** What commands run on. */
export interface CommandRunner {
  readonly clock: Clock;
  readonly database: Database;
  readonly secrets: Secrets;
  readonly records: RecordCache;
  readonly generations: GenerationReader;
  readonly models: TenantModels;
  /** What commands do to access. */
  readonly ledger: AccessLedger;
  /** References between records. */
  readonly references: RecordReferences;
  readonly audit: { readonly signer: AuditSigner; readonly streams: EventStreams };
  /** Where webhooks may lead besides the internet. */
  readonly webhookNetworks: AllowedNetworks;
  /** Called after each commit: there is news in the outbox, and so many entries in the audit record. */
  readonly committed: (auditEntries: number) => void;
}

export interface CommandScope {
  readonly scope: Scope;
  /** Whose audit record and outbox the changes belong to. */
  readonly tenantId: string;
  readonly origin: Origin;
  readonly idempotency: IdempotencyRequest | undefined;
  /** True for a command that reads and writes the whole tenant: no other command of the tenant runs beside it. */
  readonly alone?: boolean;
  /** Whether the command may change who may reach what: then what it does to access is written down with it. */
  readonly changesAccess?: boolean;
}

/** A command's outcome, and whether it was done before and is only told again. */
export interface Replayed {
  readonly replayed?: true;
}

/**
 * @param work may run more than once; changes nothing but the database
 * @returns the outcome, or the stored one of the same request
 */
export async function runCommand(
  runner: CommandRunner,
  command: CommandScope,
  work: (tx: CommandTx) => Promise<Outcome>,
): Promise<Outcome & Replayed> {
  const { scope, tenantId, origin, idempotency, alone = false, changesAccess = false } = command;
  const page = changesAccess ? await runner.ledger.open(tenantId) : undefined;
  let changes: Change[] = [];
  let entries: readonly Entry[] = [];
  let effect: WeighedEffect | undefined;

  const perform = async (transaction: Transaction): Promise<Outcome & Replayed> => {
    changes = [];
    effect = undefined;
    // Both are asked for at once, and run one after the other. When the lock is not to be had, what comes after it fails
    // too, and is waited for: nothing may be sent once the transaction is over.
    const [held, performed] = await Promise.allSettled([
      holdTenant(transaction, tenantId, alone),
      performOnce(transaction),
    ]);
    if (held.status === "rejected") throw held.reason;
    if (performed.status === "rejected") throw performed.reason;
    return performed.value;
  };

  const performOnce = async (transaction: Transaction): Promise<Outcome & Replayed> => {
    if (idempotency !== undefined) {
      const earlier = await claimReply(transaction, runner.secrets.replies, idempotency, origin.at);
      if (earlier !== undefined) return { ...earlier, replayed: true };
    }
    const tx = { tenantId, query: transaction.query };
    const outcome = await work({ ...tx, record: (change) => changes.push(change) });
    entries = changes.map((change) => newEntry(newId(), origin, change));
    if (!concernsAccess(changes)) return outcome;
    if (page === undefined) throw new Error(`${origin.operation} changes access, and does not say that it can`);
    effect = await page.weigh(tx, changes, origin.reason);
    const [first] = entries;
    return first === undefined ? outcome : { ...outcome, event: first.id };
  };

  const finish = (transaction: Transaction, outcome: Outcome & Replayed): Promise<unknown> => {
    if (outcome.replayed === true) return Promise.resolve();
    return Promise.all([
      effect?.write({ tenantId, query: transaction.query }),
      entries.length === 0 ? undefined : appendToRecord(transaction, tenantId, origin, entries),
      idempotency === undefined ? undefined : storeReply(transaction, runner.secrets.replies, idempotency, outcome),
    ]);
  };

  const outcome = await runner.database.transaction(scope, perform, finish);
  if (outcome.replayed !== true) {
    effect?.committed();
    runner.committed(changes.length);
  }
  return outcome;
}
