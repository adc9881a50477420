/** The only way to change data: a transaction with its audit entry, its outbox entry and its stored reply. */
import { appendToRecord } from "./audit/audit.queries.ts";
import type { AuditKeys } from "./audit/audit-keys.ts";
import { type Entry, newEntry } from "./audit/entry.ts";
import type { EventStreams } from "./audit/event-streams.ts";
import type { HeadGuard } from "./audit/head-guard.ts";
import { type Origin, requireReadableName } from "./change.ts";
import type { Clock } from "./clock.ts";
import { CommandBatch, type RecordedChange } from "./command-batch.ts";
import type { Database, Scope, Transaction } from "./db/database.ts";
import { claimReply, type IdempotencyRequest, storeReply } from "./idempotency.queries.ts";
import { newId } from "./ids.ts";
import type { AllowedNetworks } from "./outbound/outbound-networks.ts";
import type { Outcome } from "./outcome.ts";
import type { RecordCache } from "./record-cache.ts";
import type { RecordReferences } from "./record-references.ts";
import type { SecretBox } from "./secrets/master-key.ts";
import { type AccessImpact, type AccessLedger, concernsAccess, type EvaluatedImpact } from "./tenancy/access-ledger.ts";
import type { GenerationReader } from "./tenancy/generation-reader.ts";
import { holdTenant } from "./tenancy/tenant-lock.queries.ts";
import type { TenantModels } from "./tenancy/tenant-models.ts";
import type { CommandTx, TenantTx } from "./tenancy/tenant-tx.ts";

/** The encryption of everything that is stored encrypted. */
export interface Secrets {
  /** Replies to requests with an Idempotency-Key. */
  readonly replies: SecretBox;
  readonly gatewayTokens: SecretBox;
  readonly webhookSecrets: SecretBox;
  /** The private keys that sign gateway configurations. */
  readonly signingKeys: SecretBox;
  /** A known text that reveals a start with the wrong master key. */
  readonly masterKeyCheck: SecretBox;
}

/** The dependencies of commands. */
export interface CommandRunner {
  readonly clock: Clock;
  readonly database: Database;
  readonly secrets: Secrets;
  readonly records: RecordCache;
  readonly generations: GenerationReader;
  readonly models: TenantModels;
  /** Records the access impact of commands. */
  readonly ledger: AccessLedger;
  /** References between records. */
  readonly references: RecordReferences;
  readonly audit: { readonly keys: AuditKeys; readonly guard: HeadGuard; readonly streams: EventStreams };
  /** Networks outside the internet that webhooks can reach. */
  readonly webhookNetworks: AllowedNetworks;
  /** Called after each commit, with the number of new audit entries. */
  readonly committed: (auditEntries: number) => void;
}

export interface CommandScope {
  readonly scope: Scope;
  /** The tenant whose audit record and outbox receive the changes. */
  readonly tenantId: string;
  readonly origin: Origin;
  readonly idempotency: IdempotencyRequest | undefined;
  /** Whether the command reads and writes the whole tenant. Then no other command of the tenant runs concurrently. */
  readonly alone?: boolean;
  /** Whether the command can change access. Then its access impact is stored with it. */
  readonly changesAccess?: boolean;
}

/** A command's outcome, and whether it is the stored outcome of an earlier request. */
export interface Replayed {
  readonly replayed?: true;
}

/**
 * Runs a command.
 *
 * @param work can run more than once; changes nothing but the database
 * @returns the outcome, or the stored outcome of the same request
 */
export function runCommand(
  runner: CommandRunner,
  command: CommandScope,
  work: (tx: CommandTx) => Promise<Outcome>,
): Promise<Outcome & Replayed> {
  const { origin } = command;
  return runRecorded(runner, command, async ({ tx, recorded }) => {
    const checks: (() => Promise<void>)[] = [];
    const outcome = await work({
      ...tx,
      record: (change) => {
        requireReadableName(change);
        recorded.push({ id: newId(), origin, change });
      },
      atEnd: (check) => checks.push(check),
    });
    for (const check of checks) await check();
    return outcome;
  });
}

/**
 * Runs a batch of commands as one command: one generation, one outbox entry, one evaluation of access. No other command
 * of the tenant runs concurrently, because a batch locks records in any order.
 *
 * @param command.origin the author of the batch; each command records its changes with its own origin
 * @param work like the `work` of `runCommand`
 */
export function runBatch(
  runner: CommandRunner,
  command: Omit<CommandScope, "scope" | "alone">,
  work: (batch: CommandBatch) => Promise<Outcome>,
): Promise<Outcome & Replayed> {
  const { clock } = runner;
  const scope = { kind: "tenant", tenantId: command.tenantId } as const;
  return runRecorded(runner, { ...command, scope, alone: true }, ({ tx, recorded, impact }) =>
    work(new CommandBatch({ tx, recorded, impact, clock, tooLong: "change_set_too_long" })),
  );
}

interface Recording {
  readonly tx: TenantTx;
  /** Receives the changes, in order. */
  readonly recorded: RecordedChange[];
  readonly impact: AccessImpact | undefined;
}

async function runRecorded(
  runner: CommandRunner,
  command: CommandScope,
  work: (recording: Recording) => Promise<Outcome>,
): Promise<Outcome & Replayed> {
  const { scope, tenantId, origin, idempotency, alone = false, changesAccess = false } = command;
  const impact = changesAccess ? await runner.ledger.open(tenantId) : undefined;
  let entries: readonly Entry[] = [];
  let effect: EvaluatedImpact | undefined;

  const perform = async (transaction: Transaction): Promise<Outcome & Replayed> => {
    entries = [];
    effect = undefined;
    if (alone) {
      // The time limit of a batch starts when it holds the lock.
      await holdTenant(transaction, tenantId, true);
      return performOnce(transaction);
    }
    // Both queries are sent at once and run in sequence. If the lock fails, the second query fails too and is awaited:
    // nothing may be sent after the transaction has ended.
    const [held, performed] = await Promise.allSettled([
      holdTenant(transaction, tenantId, false),
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
    const recorded: RecordedChange[] = [];
    const outcome = await work({ tx, recorded, impact });
    entries = recorded.map(({ id, origin: author, change }) => newEntry(id, author, change));
    const changes = recorded.map(({ change }) => change);
    if (!concernsAccess(changes)) return outcome;
    if (impact === undefined) throw new Error(`${origin.operation} changes access without declaring changesAccess`);
    effect = await impact.evaluate(tx, changes, origin.reason);
    const [first] = entries;
    return first === undefined ? outcome : { ...outcome, event: first.id };
  };

  const finish = (transaction: Transaction, outcome: Outcome & Replayed): Promise<unknown> => {
    if (outcome.replayed === true) return Promise.resolve();
    return Promise.all([
      // First, because it throws for a reply that is too large: then nothing else may have been sent.
      idempotency === undefined ? undefined : storeReply(transaction, runner.secrets.replies, idempotency, outcome),
      effect?.write({ tenantId, query: transaction.query }),
      entries.length === 0 ? undefined : appendToRecord(transaction, tenantId, origin, entries, effect !== undefined),
    ]);
  };

  const outcome = await runner.database.transaction(scope, perform, finish);
  if (outcome.replayed !== true) {
    effect?.committed();
    runner.committed(entries.length);
  }
  return outcome;
}
