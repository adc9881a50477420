import type { revertEvent as operation } from "@gatehouse/contract/operations/reverts.operations";
import type { ChangeResult } from "@gatehouse/contract/records/change-set";
import type { Event } from "@gatehouse/contract/records/event";
import { type ChangedRecord, maxRevertedRecords, type Revert } from "@gatehouse/contract/records/revert";
import { AppError } from "../../platform/app-error.ts";
import { eventView } from "../../platform/audit/entry.ts";
import type { Call } from "../../platform/call.ts";
import type { Change } from "../../platform/change.ts";
import { type Outcome, record } from "../../platform/outcome.ts";
import { readGeneration } from "../../platform/tenancy/generation.queries.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import { performChanges, prepareSet } from "../changes/changes.api.ts";
import { entriesAfter, entriesOfGeneration, readEvent } from "../events/events.api.ts";
import { readAccessPreview } from "../previews/previews.api.ts";
import { readCurrentState } from "./current-state.ts";
import { neededState, planRevert } from "./plan/plan-revert.ts";
import type { RevertPlan } from "./plan/revert-plan.ts";

type RevertCall = Call<typeof operation>;

/** The most entries of a generation that a plan considers: one reordering can move this many policies. */
const maxGenerationEntries = 20_000;

/** The most later entries that a plan considers. */
const maxLaterEntries = 1_000;

export function revertEvent(call: RevertCall): Promise<Outcome> {
  return call.isSet("preview") ? previewRevert(call) : performRevert(call);
}

function performRevert(call: RevertCall): Promise<Outcome> {
  return call.runBatch(true, async (batch) => {
    const { event, plan, generation } = await planned(call, batch.tx);
    if (plan.changes.length === 0 && plan.cannot.length > 0) throw notRevertible(event, plan);
    const results = await performChanges(call, prepareSet(call, [...plan.changes]), batch);
    // No other command of the tenant runs, so this one makes the next generation.
    const next = generation + (batch.changes.length === 0 ? 0 : 1);
    return record(revertView(event, plan, { generation: next, changed: batch.changes, results }), next);
  });
}

async function previewRevert(call: RevertCall): Promise<Outcome> {
  // No other command of the tenant can run meanwhile, so end the transaction as soon as everything was read.
  const { base, preview } = await call.runDry(async (batch) => {
    const { event, plan, generation } = await planned(call, batch.tx);
    const prepared = prepareSet(call, [...plan.changes]);
    try {
      await performChanges(call, prepared, batch);
    } catch (error) {
      return {
        base: { ...revertView(event, plan, { generation, changed: [] }), refused: refusalOf(error) },
        preview: undefined,
      };
    }
    const shown = revertView(event, plan, { generation, changed: batch.changes });
    return { base: shown, preview: prepared.length === 0 ? undefined : await readAccessPreview(batch) };
  });
  const access = await preview?.();
  const body: Revert = { ...base, ...(access === undefined ? {} : { access }) };
  const outcome = record(body, body.generation);
  // Another command may hold the last database connection, so compute the answer before the command starts.
  return call.idempotency === undefined ? outcome : call.command(async () => outcome);
}

interface Planned {
  readonly event: Event;
  readonly plan: RevertPlan;
  readonly generation: number;
}

/** @throws AppError not_found, precondition_failed */
async function planned(call: RevertCall, tx: TenantTx): Promise<Planned> {
  const [row, generation = 0] = await Promise.all([readEvent(tx, call.parameters.id), readGeneration(tx)]);
  if (row === undefined) {
    throw new AppError("not_found", { detail: "The audit record has no entry with this id, or the entry was pruned." });
  }
  call.requireVersion(generation);
  const event = eventView(row);
  const siblings = await entriesOfGeneration(tx, event.generation, maxGenerationEntries);
  const needed = neededState({ event, generation: siblings });
  const [later, state] = await Promise.all([
    entriesAfter(tx, needed.laterOn, event.position, maxLaterEntries),
    readCurrentState(tx, needed, call.now),
  ]);
  return { event, plan: planRevert({ event, generation: siblings, later }, state), generation };
}

function notRevertible({ id, operation: of, target }: Event, { cannot }: RevertPlan): AppError {
  const messages = [...new Set(cannot.map(({ message }) => message))];
  return new AppError("not_revertible", {
    detail: `The event ${of} on the ${target.type} ${target.name ?? target.id} cannot be reverted. ${messages.join(" ")}`,
    errors: cannot.map(({ code, message }) => ({ pointer: `/tenants/events/${id}`, message: `${code}: ${message}` })),
  });
}

/** The refusal that a preview reports. Missing permissions and failures are errors of the preview itself. */
function refusalOf(error: unknown): NonNullable<Revert["refused"]> {
  if (!(error instanceof AppError) || error.status >= 500 || error.code === "permission_denied") throw error;
  const { code, detail, errors } = error;
  return { code, detail, ...(errors === undefined ? {} : { errors: [...errors] }) };
}

interface Performed {
  readonly generation: number;
  readonly changed: readonly Change[];
  /** Undefined for a preview. */
  readonly results?: readonly ChangeResult[];
}

function revertView({ id }: Event, plan: RevertPlan, { generation, changed, results }: Performed): Revert {
  const records = changedRecords(changed);
  const newId = results?.[0]?.location?.split("/").at(-1);
  return {
    event: id,
    preview: results === undefined,
    generation,
    changes: [...plan.changes],
    ...(results === undefined ? {} : { results: [...results] }),
    records: records.slice(0, maxRevertedRecords),
    recordCount: records.length,
    undoes: [...plan.undoes],
    cannot: [...plan.cannot],
    ...(plan.recreated === undefined
      ? {}
      : {
          recreated: {
            type: plan.recreated.type,
            formerId: plan.recreated.formerId,
            ...(newId === undefined ? {} : { id: newId }),
          },
        }),
  };
}

/** Each changed record once, with its states before the first and after the last change. */
function changedRecords(changes: readonly Change[]): readonly ChangedRecord[] {
  const records = new Map<string, ChangedRecord>();
  for (const { type, id, name, before, after } of changes) {
    const key = `${type} ${id}`;
    const earlier = records.get(key);
    const first = earlier === undefined ? before : earlier.before;
    records.set(key, {
      target: { type, id, ...(name === undefined ? {} : { name }) },
      ...(first === undefined ? {} : { before: { ...first } }),
      ...(after === undefined ? {} : { after: { ...after } }),
    });
  }
  return [...records.values()];
}
