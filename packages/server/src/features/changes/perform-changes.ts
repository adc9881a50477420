/** Performs the changes of a set in order, in the transaction of a batch. */
import type { Operation } from "@gatehouse/contract/operation";
import type { ChangeResult } from "@gatehouse/contract/records/change-set";
import { AppError, bodyField } from "../../platform/app-error.ts";
import type { Call } from "../../platform/call.ts";
import type { CommandBatch, PerformedCommand } from "../../platform/command-batch.ts";
import { entityTag } from "../../platform/entity-tag.ts";
import type { Outcome } from "../../platform/outcome.ts";
import { replaceStrings } from "./change-references.ts";
import { type PreparedChange, refusalAt } from "./prepare-changes.ts";

type PerformingCall = Pick<Call<Operation>, "inner" | "evaluateAlways">;

/** A performed change, with the checks that its command left for the end of the transaction. */
type PerformedChange = readonly [PreparedChange, PerformedCommand];

/**
 * Performs the changes, and then the checks that their commands left for the end.
 *
 * @throws AppError like the first change that is refused, pointing to it
 */
export async function performChanges(
  call: PerformingCall,
  changes: readonly PreparedChange[],
  batch: CommandBatch,
): Promise<readonly ChangeResult[]> {
  const performed = await performWithoutChecks(call, changes, batch);
  await performed.check();
  return performed.results;
}

/** The results of changes whose checks have not run yet. */
export interface Unchecked {
  readonly results: readonly ChangeResult[];
  /** Runs the checks. @throws AppError like the first change that is refused, pointing to it */
  check(): Promise<void>;
}

/** Like `performChanges`, for changes that are followed by others of the same set. */
export async function performWithoutChecks(
  call: PerformingCall,
  changes: readonly PreparedChange[],
  batch: CommandBatch,
): Promise<Unchecked> {
  const ids = new Map<string, string>();
  const performed: PerformedChange[] = [];
  for (const prepared of changes) {
    const command = await atChange(prepared, () => performChange(call, prepared, ids, batch));
    performed.push([prepared, command]);
  }
  return {
    results: performed.map(([{ found }, { outcome, events }]) => resultOf(found.operation, outcome, events)),
    async check() {
      for (const [prepared, { checks }] of performed) {
        for (const check of checks) await atChange(prepared, check);
      }
    },
  };
}

async function performChange(
  call: PerformingCall,
  { index, found, checked, placeholder, change }: PreparedChange,
  ids: Map<string, string>,
  batch: CommandBatch,
): Promise<PerformedCommand> {
  const { operation } = found;
  // Copies the body, because the transaction may run again.
  const inner = call.inner(operation, await call.evaluateAlways(replaceStrings(checked, ids)), batch);
  const command = await batch.collect(() => found.perform(inner));
  if (placeholder !== undefined) {
    const id = createdId(command.outcome);
    if (id === undefined) {
      const message = `${change.method} ${change.path.slice(0, 200)} creates no single record`;
      throw new AppError("invalid_change_reference", { errors: [bodyField(`/changes/${index}/as`, message)] });
    }
    ids.set(placeholder, id);
  }
  return command;
}

/** The id of the record that was created, at the end of its path. */
function createdId(outcome: Outcome): string | undefined {
  return outcome.kind === "record" ? outcome.location?.split("/").at(-1) : undefined;
}

function resultOf({ id, success }: Operation, outcome: Outcome, events: readonly string[]): ChangeResult {
  if (outcome.kind !== "record" && outcome.kind !== "empty") throw new Error(`${id} has no result for a change set`);
  const { version } = outcome;
  const etag = version === undefined ? {} : { etag: entityTag(version) };
  const common = { status: success.status, ...etag, events: [...events] };
  if (outcome.kind === "empty") return common;
  const { location, body } = outcome;
  return { ...common, ...(location === undefined ? {} : { location }), body };
}

async function atChange<T>({ index, change }: PreparedChange, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    // Errors about the set itself already point to the change.
    if (error instanceof AppError && error.code === "invalid_change_reference") throw error;
    throw refusalAt(index, change, error);
  }
}
