/** The only way to change data: a transaction with its audit entry, its outbox entry and its stored reply. */
import { finish as finishWork, type Work } from "@gatehouse/policy/work";
import type { AnswerCache } from "./answer-cache.ts";
import { appendToRecord, isLargeChange, type StoredEntries, storeEarlyEntries } from "./audit/audit.queries.ts";
import type { AuditKeys } from "./audit/audit-keys.ts";
import type { EventStreams } from "./audit/event-streams.ts";
import type { HeadGuard } from "./audit/head-guard.ts";
import { type Origin, type RecordedChange, requireReadableName } from "./change.ts";
import type { Clock } from "./clock.ts";
import { CommandBatch } from "./command-batch.ts";
import { allSettled } from "./concurrency/all-settled.ts";
import type { JointRuns } from "./concurrency/joint-runs.ts";
import type { TenantPace } from "./concurrency/tenant-pace.ts";
import type { Database, Transaction } from "./db/database.ts";
import type { Pauses } from "./db/paused-statements.ts";
import type { Scope } from "./db/scope.ts";
import type { Evaluator } from "./evaluation/evaluator.ts";
import { claimReply, type IdempotencyRequest, storeReply } from "./idempotency.queries.ts";
import { newId } from "./ids.ts";
import { hasLargeBody, withSerializedBody } from "./json-slices.ts";
import type { PageReader } from "./lists/page-reader.ts";
import type { Exchange } from "./outbound/exchange.ts";
import type { AllowedNetworks } from "./outbound/outbound-networks.ts";
import type { TxtReads } from "./outbound/txt-reads.ts";
import type { Outcome } from "./outcome.ts";
import type { RecordReferences } from "./record-references.ts";
import type { SecretBox } from "./secrets/master-key.ts";
import type { SharedTime } from "./shared-time.ts";
import {
  type AccessImpact,
  type AccessLedger,
  concernsAccess,
  type EvaluatedImpact,
  type EvaluateImpact,
} from "./tenancy/access-ledger.ts";
import { requireSameRecords } from "./tenancy/announced-records.ts";
import type { GenerationReader } from "./tenancy/generation-reader.ts";
import type { SharedSnapshots } from "./tenancy/shared-snapshots.ts";
import { holdTenant } from "./tenancy/tenant-lock.queries.ts";
import type { TenantModels } from "./tenancy/tenant-models.ts";
import type { CommandTx, CreatedRecord, TenantTx } from "./tenancy/tenant-tx.ts";

/** The encryption of everything that is stored encrypted. */
export interface Secrets {
  /** Replies to requests with an Idempotency-Key. */
  readonly replies: SecretBox;
  readonly gatewayTokens: SecretBox;
  readonly webhookSecrets: SecretBox;
  /** The secrets of clients at identity providers. */
  readonly providerSecrets: SecretBox;
  /** Challenges that a browser holds until it answers them. */
  readonly signInChallenges: SecretBox;
  /** The codes of enrolment links, and the tokens of links that are sent by mail. */
  readonly enrolmentLinks: SecretBox;
  /** The private keys that sign gateway configurations. */
  readonly signingKeys: SecretBox;
  readonly acmeKeys: SecretBox;
  /** A known text that reveals a start with the wrong master key. */
  readonly masterKeyCheck: SecretBox;
}

/** The dependencies of commands. */
export interface CommandRunner {
  readonly clock: Clock;
  /** The database's time, for the heartbeats of gateways. */
  readonly sharedTime: SharedTime;
  readonly database: Database;
  /** Returns the address at which browsers reach the server, without a trailing slash. Known once the port is open. */
  readonly publicUrl: () => string;
  readonly secrets: Secrets;
  readonly answers: AnswerCache;
  /** Undefined if nothing is cached. */
  readonly pages: PageReader | undefined;
  readonly generations: GenerationReader;
  /** Reads single records for many requests at once. */
  readonly snapshots: SharedSnapshots;
  readonly models: TenantModels;
  /** Slows down tenants that keep the replica busy. */
  readonly pace: TenantPace;
  /** Evaluates access, in slices that are shared fairly. */
  readonly evaluator: Evaluator;
  /** Records the access impact of commands. */
  readonly ledger: AccessLedger;
  /** The commands that create records, which share transactions. */
  readonly creations: JointRuns<CreatingCommand, Outcome>;
  /** References between records. */
  readonly references: RecordReferences;
  readonly audit: { readonly keys: AuditKeys; readonly guard: HeadGuard; readonly streams: EventStreams };
  /** Networks outside the internet that webhooks can reach. */
  readonly webhookNetworks: AllowedNetworks;
  /** Networks outside the internet that identity providers can be in. */
  readonly providerNetworks: AllowedNetworks;
  /** Performs requests to targets that tenants choose. */
  readonly exchange: Exchange;
  /** The mails of a tenant per day; undefined if the server sends none. */
  readonly mailsPerDay: number | undefined;
  /** Reads the TXT records that prove the ownership of domains. */
  readonly txtReads: TxtReads;
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
  /** Whether the command stores a late effect, which its seal then covers. */
  readonly storesLateEffect?: boolean;
  /** The pauses between statements; undefined if the command is short. */
  readonly pauses?: Pauses | undefined;
}

/** A command that creates records and changes no others. It announces them with its last statement. */
export interface CreatingCommand {
  readonly scope: CommandScope;
  /** May run more than once, so it must change only the database. */
  readonly work: (tx: CommandTx) => Promise<Outcome>;
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
  return runRecorded(runner, command, async ({ tx, recorded, announce, storeEntries }) => {
    const checks: (() => Promise<void>)[] = [];
    const outcome = await work({
      ...tx,
      record: (change) => {
        requireReadableName(change, origin);
        recorded.push({ id: newId(), origin, change });
      },
      announce,
      storeEntries,
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

/** Up to this number, small entries are serialized after the evaluation. Others are stored during the evaluation. */
const fewEntries = 8;

interface Recording {
  readonly tx: TenantTx;
  /** Receives the changes, in order. */
  readonly recorded: RecordedChange[];
  readonly impact: AccessImpact | undefined;
  /** See `CommandTx.announce`. */
  readonly announce: (created: readonly CreatedRecord[]) => void;
  /** See `CommandTx.storeEntries`. */
  readonly storeEntries: () => void;
}

async function runRecorded(
  runner: CommandRunner,
  command: CommandScope,
  work: (recording: Recording) => Promise<Outcome>,
): Promise<Outcome & Replayed> {
  const {
    scope,
    tenantId,
    origin,
    idempotency,
    alone = false,
    changesAccess = false,
    storesLateEffect = false,
    pauses,
  } = command;
  const impact = changesAccess ? await runner.ledger.open(tenantId) : undefined;
  let entries: StoredEntries | undefined;
  let entryCount = 0;
  let evaluated: EvaluatedImpact | undefined;

  const perform = async (transaction: Transaction): Promise<Outcome & Replayed> => {
    entries = undefined;
    entryCount = 0;
    evaluated = undefined;
    if (alone) {
      // The time limit of a batch starts when it holds the lock.
      await holdTenant(transaction, tenantId, true);
      return performOnce(transaction);
    }
    // Both queries are sent at once and run in sequence. If the lock fails, the second query fails too and is awaited:
    // nothing may be sent after the transaction has ended.
    const [, performed] = await allSettled([holdTenant(transaction, tenantId, false), performOnce(transaction)]);
    return performed;
  };

  const performOnce = async (transaction: Transaction): Promise<Outcome & Replayed> => {
    if (idempotency !== undefined) {
      const earlier = await claimReply(transaction, runner.secrets.replies, idempotency, origin.at);
      if (earlier !== undefined) return { ...earlier, replayed: true };
    }
    const tx = { tenantId, query: transaction.query };
    const recorded: RecordedChange[] = [];
    let announced:
      | { readonly created: readonly CreatedRecord[]; readonly evaluation: Promise<EvaluateImpact | undefined> }
      | undefined;
    const announce = (created: readonly CreatedRecord[]) => {
      const changes = created.map((change) => ({ ...change, after: {} }));
      if (impact === undefined || !concernsAccess(changes)) return;
      const evaluation = impact.begin(tx, [changes]).then(([evaluate]) => evaluate);
      // Awaited only if the work succeeds.
      evaluation.catch(() => undefined);
      announced = { created, evaluation };
    };
    const perform = <Result>(work: Work<Result>) => runner.evaluator.decide(tenantId, work);
    let storing: Promise<StoredEntries> | undefined;
    let storedCount: number | undefined;
    const storeEntries = () => {
      storedCount = recorded.length;
      storing = storeEarlyEntries(tx, origin, recorded, perform);
      // Awaited below.
      storing.catch(() => undefined);
    };
    const performed = await work({ tx, recorded, impact, announce, storeEntries }).catch(async (error: unknown) => {
      // Nothing may be sent after the transaction has ended.
      await Promise.allSettled([storing, announced?.evaluation]);
      throw error;
    });
    // Only a reply that is stored must be serialized before the commit.
    const outcome =
      idempotency?.storesReply === true && hasLargeBody(performed)
        ? await perform(withSerializedBody(performed))
        : performed;
    const [first] = recorded;
    if (first === undefined) return outcome;
    entryCount = recorded.length;
    if (storedCount !== undefined && storedCount !== entryCount) {
      await storing;
      throw new Error(`${origin.operation} recorded changes after it had stored its entries`);
    }
    const changes = recorded.map(({ change }) => change);
    const concerned = concernsAccess(changes);
    const evaluateChanges = async (): Promise<EvaluatedImpact | undefined> => {
      if (!concerned) return undefined;
      if (impact === undefined) throw new Error(`${origin.operation} changes access without declaring changesAccess`);
      if (announced === undefined) return impact.evaluate(tx, changes, origin.reason);
      const evaluate = await announced.evaluation;
      requireSameRecords(announced.created, changes);
      return evaluate?.(origin.reason);
    };
    const areFew = recorded.length <= fewEntries && !recorded.some(isLargeChange);
    if (storing === undefined && areFew) {
      evaluated = await evaluateChanges();
      entries = await storeEarlyEntries(tx, origin, recorded, finishWork);
    } else {
      storing ??= storeEarlyEntries(tx, origin, recorded, perform);
      [evaluated, entries] = await allSettled([evaluateChanges(), storing]);
    }
    return concerned ? { ...outcome, event: first.id } : outcome;
  };

  const finish = (transaction: Transaction, outcome: Outcome & Replayed): Promise<unknown> => {
    if (outcome.replayed === true) return Promise.resolve();
    return Promise.all([
      // First, because it throws for a reply that is too large: then nothing else may have been sent.
      idempotency === undefined ? undefined : storeReply(transaction, runner.secrets.replies, idempotency, outcome),
      entries === undefined
        ? undefined
        : appendToRecord(transaction, tenantId, origin, entries, evaluated?.effect ?? { storesLateEffect }),
    ]);
  };

  const outcome = await runner.database.transaction(scope, perform, finish, pauses);
  if (outcome.replayed !== true) {
    evaluated?.committed();
    runner.committed(entryCount);
  }
  return outcome;
}
