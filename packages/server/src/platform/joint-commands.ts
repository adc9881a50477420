/**
 * Commands of one tenant that create records, in one transaction (docs/decisions/0192). Each command has its own
 * generation, audit entries, seal, outbox entry and access effect, as if it had committed alone. They share the locks,
 * the queries for their effects and the commit.
 */
import { AsyncResource } from "node:async_hooks";
import { finish as finishWork, type Work } from "@gatehouse/policy/work";
import { AppError } from "./app-error.ts";
import { appendToRecord, type StoredEntries, storeEarlyEntries } from "./audit/audit.queries.ts";
import { type RecordedChange, requireReadableName } from "./change.ts";
import { type CommandRunner, type CommandScope, type CreatingCommand, type Replayed, runCommand } from "./command.ts";
import type { JointRunLimits } from "./concurrency/joint-runs.ts";
import type { Transaction } from "./db/database.ts";
import { isSerializationFailure } from "./db/database-errors.ts";
import { newId } from "./ids.ts";
import type { Outcome } from "./outcome.ts";
import type { EvaluatedImpact } from "./tenancy/access-ledger.ts";
import { requireSameRecords } from "./tenancy/announced-records.ts";
import { holdTenant } from "./tenancy/tenant-lock.queries.ts";
import type { CommandTx, CreatedRecord, TenantTx } from "./tenancy/tenant-tx.ts";

/**
 * A transaction of this size stays short: it holds the tenant's rows for its whole length. The facts of so many records
 * are read by their ids.
 */
export const jointLimits: JointRunLimits = { items: 16, size: 400, waitMs: 1_000 };

/** Up to this number, entries are serialized at once, and the statements that store them are sent in one write. */
const fewEntries = 16;

/**
 * Runs a command that creates records and changes no others, like `runCommand`. Commands of one tenant and operation
 * that arrive together share a transaction.
 *
 * @param count the number of records that the command creates
 * @param work must announce what it creates
 */
export function runCreation(
  runner: CommandRunner,
  command: CommandScope,
  count: number,
  work: (tx: CommandTx) => Promise<Outcome>,
): Promise<Outcome & Replayed> {
  // Claiming a key waits for another request with the same key, which would hold up the other commands.
  if (command.idempotency !== undefined) return runCommand(runner, command, work);
  const { tenantId, origin } = command;
  // Commands of one operation lock the same rows in the same order, so joint transactions of replicas do not deadlock.
  const key = `${tenantId} ${origin.operation}`;
  // Queries are attributed to the request that they serve.
  return runner.creations.run(key, { scope: command, work: AsyncResource.bind(work) }, count, async (commands) => {
    const alone = () => commands.map(({ scope, work: perform }) => runCommand(runner, scope, perform));
    if (commands.length === 1) return alone();
    try {
      return (await runTogether(runner, tenantId, commands)).map((outcome) => Promise.resolve(outcome));
    } catch (error) {
      return mayHaveCommitted(error) ? commands.map(() => Promise.reject(error)) : alone();
    }
  });
}

/** A broken connection can hide a commit. A transaction that only failed to serialize was rolled back. */
function mayHaveCommitted(error: unknown): boolean {
  return error instanceof AppError && error.code === "database_unavailable" && !isSerializationFailure(error.cause);
}

/**
 * Runs commands of one tenant in one transaction. Each sees the changes of the previous ones. All commit, or none does.
 *
 * @returns the outcomes, in the order of the commands
 * @throws AppError database_unavailable, if they may have committed or failed to serialize too often
 */
async function runTogether(
  runner: CommandRunner,
  tenantId: string,
  commands: readonly CreatingCommand[],
): Promise<readonly Outcome[]> {
  const impact = await runner.ledger.open(tenantId);
  let impacts: EvaluatedImpact[] = [];
  let entryCount = 0;

  const perform = async (transaction: Transaction): Promise<Performed> => {
    const tx = { tenantId, query: transaction.query };
    const held = holdTenant(transaction, tenantId, false);
    held.catch(() => undefined); // Awaited below, unless a command fails first.
    const started = await startInTurn(tx, commands);
    const beginning = impact.begin(
      tx,
      started.map(({ created }) => created.map((record) => ({ ...record, after: {} }))),
    );
    // Everything is awaited before an error ends the transaction: nothing may be sent afterwards.
    const settled = await Promise.allSettled([held, beginning, ...started.map(({ outcome }) => outcome)]);
    for (const result of settled) if (result.status === "rejected") throw result.reason;
    const evaluations = await beginning;
    impacts = [];
    for (const [index, { created, recorded, scope }] of started.entries()) {
      requireSameRecords(
        created,
        recorded.map(({ change }) => change),
      );
      const evaluated = await evaluations[index]?.(scope.origin.reason);
      if (evaluated !== undefined) impacts.push(evaluated);
    }
    entryCount = started.reduce((sum, { recorded }) => sum + recorded.length, 0);
    const serialize = <Result>(work: Work<Result>): Result | Promise<Result> =>
      entryCount <= fewEntries ? finishWork(work) : runner.evaluator.decide(tenantId, work);
    const sealing = new Sealing(transaction, tenantId);
    for (const [index, { scope, recorded }] of started.entries()) {
      const entries = await storeEarlyEntries(tx, scope.origin, recorded, serialize, () => sealing.send());
      sealing.add({ scope, entries, impact: impacts[index] });
    }
    const outcomes = await Promise.all(
      started.map(async ({ outcome, recorded }) => ({ ...(await outcome), event: recorded[0]?.id ?? "" })),
    );
    return { outcomes, sealing };
  };

  const finish = (_transaction: Transaction, { sealing }: Performed) => sealing.send();

  const { outcomes } = await runner.database.transaction({ kind: "tenant", tenantId }, perform, finish);
  for (const evaluated of impacts) evaluated.committed();
  runner.committed(entryCount);
  return outcomes;
}

/** The parts of one command that are still to be stored. */
interface Part {
  readonly scope: CommandScope;
  readonly entries: StoredEntries;
  readonly impact: EvaluatedImpact | undefined;
}

interface Performed {
  readonly outcomes: readonly Outcome[];
  readonly sealing: Sealing;
}

/** Sends the last statements of commands, each after those of the previous command, and together if possible. */
class Sealing {
  readonly #transaction: Transaction;
  readonly #tenantId: string;
  #waiting: Part[] = [];
  readonly #sent: Promise<unknown>[] = [];

  constructor(transaction: Transaction, tenantId: string) {
    this.#transaction = transaction;
    this.#tenantId = tenantId;
  }

  add(part: Part): void {
    this.#waiting.push(part);
  }

  /** Sends everything that waits. Each statement stores a command's effect, audit entries, seal and outbox entry. */
  async send(): Promise<void> {
    const parts = this.#waiting;
    this.#waiting = [];
    for (const { scope, entries, impact } of parts) {
      const details = impact?.effect ?? { storesLateEffect: false };
      const sent = appendToRecord(this.#transaction, this.#tenantId, scope.origin, entries, details);
      // Awaited below, even if the transaction fails first.
      sent.catch(() => undefined);
      this.#sent.push(sent);
    }
    await Promise.all(this.#sent);
  }
}

interface StartedCommand {
  readonly scope: CommandScope;
  readonly created: readonly CreatedRecord[];
  readonly recorded: readonly RecordedChange[];
  readonly outcome: Promise<Outcome>;
}

/**
 * Starts each command after the previous one has sent its last statement, so that their statements run as if one
 * command followed the other.
 *
 * @throws after all started commands have ended, if one of them failed or announced nothing
 */
async function startInTurn(tx: TenantTx, commands: readonly CreatingCommand[]): Promise<readonly StartedCommand[]> {
  const started: StartedCommand[] = [];
  for (const { scope, work } of commands) {
    const recorded: RecordedChange[] = [];
    let announce: ((created: readonly CreatedRecord[]) => void) | undefined;
    const announced = new Promise<readonly CreatedRecord[]>((resolve) => {
      announce = resolve;
    });
    const outcome = work({
      ...tx,
      record: (change) => {
        requireReadableName(change, scope.origin);
        recorded.push({ id: newId(), origin: scope.origin, change });
      },
      announce: (created) => announce?.(created),
      // Only for commands that run alone.
      storeEntries: () => undefined,
      atEnd: () => {
        throw new Error("a command that only creates records has no checks at its end");
      },
    });
    const created = await Promise.race([announced, outcome.then(endedEarly, endedEarly)]);
    started.push({ scope, created: created ?? [], recorded, outcome });
    if (created !== undefined) continue;
    const outcomes = await Promise.allSettled(started.map((command) => command.outcome));
    for (const result of outcomes) if (result.status === "rejected") throw result.reason;
    throw new Error(`${scope.origin.operation} announced nothing`);
  }
  return started;
}

function endedEarly(): undefined {
  return undefined;
}
