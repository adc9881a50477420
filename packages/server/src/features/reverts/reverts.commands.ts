import { isDangerous } from "@gatehouse/contract/operation";
import type { revertEvent as operation } from "@gatehouse/contract/operations/reverts.operations";
import type { Change } from "@gatehouse/contract/records/change-set";
import type { Revert, RevertScope } from "@gatehouse/contract/records/revert";
import { AppError } from "../../platform/app-error.ts";
import type { Call } from "../../platform/call.ts";
import type { CommandBatch } from "../../platform/command-batch.ts";
import { type Outcome, record } from "../../platform/outcome.ts";
import { readGeneration } from "../../platform/tenancy/generation.queries.ts";
import { readAccessPreview } from "../previews/previews.api.ts";
import { type EventHistory, readEventHistory } from "./event-history.ts";
import { PerformedRevert } from "./perform-revert.ts";
import { refusalOf, revertView } from "./revert-view.ts";

type RevertCall = Call<typeof operation>;

export function revertEvent(call: RevertCall): Promise<Outcome> {
  return call.isSet("preview") ? previewRevert(call) : performRevert(call);
}

function performRevert(call: RevertCall): Promise<Outcome> {
  return call.runBatch(true, async (batch) => {
    const { scope, history, generation, revert } = await openRevert(call, batch);
    await revert.perform();
    if (revert.changes.some((change) => isDangerousChange(call, change))) call.requireRecentAuthentication();
    if (revert.changes.length === 0 && revert.cannot.length > 0) throw notRevertible(history, revert);
    // No other command of the tenant runs, so this one makes the next generation.
    const next = generation + (batch.changes.length === 0 ? 0 : 1);
    const { results } = revert;
    return record(revertView(history, revert, { scope, generation: next, changed: batch.changes, results }), next);
  });
}

/** Whether a person must have authenticated recently to make the change. */
function isDangerousChange({ plannedRequests }: Pick<RevertCall, "plannedRequests">, change: Change): boolean {
  const found = plannedRequests.find(change);
  return found !== undefined && isDangerous(found.operation, change.body);
}

async function previewRevert(call: RevertCall): Promise<Outcome> {
  // No other command of the tenant can run meanwhile, so end the transaction as soon as everything was read.
  const { base, preview } = await call.runDry(async (batch) => {
    const { scope, history, generation, revert } = await openRevert(call, batch);
    try {
      await revert.perform();
    } catch (error) {
      const refused = refusalOf(error);
      return {
        base: { ...revertView(history, revert, { scope, generation, changed: [] }), refused },
        preview: undefined,
      };
    }
    const shown = revertView(history, revert, { scope, generation, changed: batch.changes });
    return { base: shown, preview: revert.changes.length === 0 ? undefined : await readAccessPreview(batch) };
  });
  const access = await preview?.(call);
  const body: Revert = { ...base, ...(access === undefined ? {} : { access }) };
  const outcome = record(body, body.generation);
  // Another command may hold the last database connection, so compute the answer before the command starts.
  return call.idempotency === undefined ? outcome : call.command(async () => outcome);
}

interface OpenedRevert {
  readonly scope: RevertScope;
  readonly history: EventHistory;
  /** The tenant's generation. */
  readonly generation: number;
  readonly revert: PerformedRevert;
}

/** @throws AppError not_found, precondition_failed, revert_too_large */
async function openRevert(call: RevertCall, batch: CommandBatch): Promise<OpenedRevert> {
  const scope = call.queryParameter("scope") === "request" ? "request" : "event";
  const generation = (await readGeneration(batch.tx)) ?? 0;
  const history = await readEventHistory(batch, call.parameters.id, scope);
  call.requireGeneration(generation);
  return { scope, history, generation, revert: new PerformedRevert(call, batch, history, scope) };
}

function notRevertible({ event }: EventHistory, { cannot }: PerformedRevert): AppError {
  const { id, operation: of, target } = event;
  const messages = [...new Set(cannot.map(({ message }) => message))];
  return new AppError("not_revertible", {
    detail: `The event ${of} on the ${target.type} ${target.name ?? target.id} cannot be reverted. ${messages.join(" ")}`,
    errors: cannot.map(({ code, message }) => ({ pointer: `/tenants/events/${id}`, message: `${code}: ${message}` })),
  });
}
