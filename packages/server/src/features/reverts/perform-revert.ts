/** Plans and performs the reverts of events one after another, in the transaction of a batch. */
import type { revertEvent as operation } from "@gatehouse/contract/operations/reverts.operations";
import type { Change, ChangeResult } from "@gatehouse/contract/records/change-set";
import type { Event } from "@gatehouse/contract/records/event";
import {
  type Irrevertible,
  maxRequestChanges,
  maxUndoneEvents,
  type RecreatedRecord,
  type RevertScope,
  type UndoneEvent,
} from "@gatehouse/contract/records/revert";
import { finish } from "@gatehouse/policy/work";
import { AppError, type AppErrorOptions } from "../../platform/app-error.ts";
import type { Call } from "../../platform/call.ts";
import type { CommandBatch } from "../../platform/command-batch.ts";
import { performWithoutChecks, prepareSet, replaceStrings, type Unchecked } from "../changes/changes.api.ts";
import { readCurrentState } from "./current-state.ts";
import type { EventHistory } from "./event-history.ts";
import { recreatedReference } from "./plan/deletion-plan.ts";
import { neededState, planRevert } from "./plan/plan-revert.ts";
import { reasonAgainst } from "./plan/reasons.ts";
import type { RevertedEvent, RevertPlan } from "./plan/revert-plan.ts";
import { createdRecords, RelatedEntries } from "./plan/reverted-events.ts";

type RevertCall = Call<typeof operation>;

/** A revert, as far as it was performed. */
export class PerformedRevert {
  readonly changes: Change[] = [];
  readonly results: ChangeResult[] = [];
  readonly cannot: Irrevertible[] = [];
  /** The records that return, by the ids of their events. */
  readonly recreated = new Map<string, RecreatedRecord>();
  readonly #undoes = new Map<string, UndoneEvent>();
  readonly #call: RevertCall;
  readonly #batch: CommandBatch;
  readonly #history: EventHistory;
  readonly #scope: RevertScope;
  readonly #related: RelatedEntries;
  readonly #created: ReadonlySet<string>;
  /** The new ids of recreated records by their former ids. */
  readonly #newIds = new Map<string, string>();
  /** The references to recreated records by their new ids. */
  readonly #references = new Map<string, string>();

  constructor(call: RevertCall, batch: CommandBatch, history: EventHistory, scope: RevertScope) {
    this.#call = call;
    this.#batch = batch;
    this.#history = history;
    this.#scope = scope;
    this.#related = new RelatedEntries(history.request);
    this.#created = createdRecords(history.request);
  }

  /** Later events that the revert undoes, in the order of their positions, as many as a response lists. */
  get undoes(): readonly UndoneEvent[] {
    return this.#allUndone.slice(0, maxUndoneEvents);
  }

  /** Whether the revert may undo further events. */
  get undoesMore(): boolean {
    return !this.#history.laterIsComplete || this.#allUndone.length > maxUndoneEvents;
  }

  get #allUndone(): readonly UndoneEvent[] {
    return [...this.#undoes.values()].sort((one, other) => one.position - other.position);
  }

  /**
   * Reverts the events. Each plan sees the result of the previous ones, because events of one request can depend on
   * each other.
   *
   * @throws AppError like the first request that is refused, pointing to it; revert_too_large
   */
  async perform(): Promise<void> {
    const unchecked: { readonly first: number; readonly step: Unchecked }[] = [];
    for (const event of this.#history.events) {
      const plan = await this.#planned(event);
      const first = this.changes.length;
      const reference = this.#note(event, plan);
      if (this.changes.length > maxRequestChanges) {
        throw new AppError("revert_too_large", {
          detail: `The revert of the request consists of more than ${maxRequestChanges} requests. Revert its events one by one.`,
        });
      }
      const step = await pointingAt(first, () => this.#performPlan(event, plan));
      this.results.push(...step.results);
      unchecked.push({ first, step });
      this.#noteNewId(event, plan, step, reference);
    }
    for (const { first, step } of unchecked) await pointingAt(first, () => step.check());
  }

  async #planned(event: Event): Promise<RevertPlan> {
    const { request, later, laterIsComplete } = this.#history;
    const generation = this.#scope === "request" ? this.#related.of(event) : request;
    const records = new Set(neededState({ event, generation }).laterOn);
    const reverted = await this.#withNewIds({
      event,
      generation,
      later: later.filter(({ target }) => records.has(target.id)),
      laterIsComplete,
    });
    const state = await this.#batch.readInTime((tx) => readCurrentState(tx, neededState(reverted), this.#call.now));
    return planRevert(reverted, state);
  }

  async #withNewIds(reverted: RevertedEvent): Promise<RevertedEvent> {
    if (this.#newIds.size === 0) return reverted;
    return this.#call.evaluateAlways(replaceStrings(reverted, this.#newIds));
  }

  /** @returns the reference to the record that the plan creates again, among all changes of the revert */
  #note(event: Event, plan: RevertPlan): string {
    const { id, target } = event;
    const isRequest = this.#scope === "request";
    const name = this.recreated.size === 0 ? recreatedReference : `${recreatedReference}-${this.recreated.size + 1}`;
    const shown = new Map([...this.#references, [recreatedReference, name]]);
    this.changes.push(...plan.changes.map((change) => (isRequest ? withReferences(change, shown) : change)));
    for (const undone of plan.undoes) {
      const fields = this.#undoes.get(undone.id)?.fields ?? [];
      this.#undoes.set(undone.id, { ...undone, fields: [...new Set([...fields, ...undone.fields])] });
    }
    // A record that the request created is deleted, so none of its parts needs to be restored.
    const isDeleted = isRequest && this.#created.has(target.id) && reasonAgainst(event) === undefined;
    for (const reason of isDeleted ? [] : plan.cannot) {
      if (isRequest && reason.record !== undefined && this.#created.has(reason.record.id)) continue;
      const { type, id: targetId } = target;
      this.cannot.push(isRequest ? { record: { type, id: targetId }, ...reason } : reason);
    }
    if (plan.recreated !== undefined) {
      const { type, formerId } = plan.recreated;
      this.recreated.set(id, { type, formerId });
    }
    return name;
  }

  async #performPlan({ id }: Event, { changes }: RevertPlan): Promise<Unchecked> {
    const call = this.#call;
    const prepared = await prepareSet(call, [...changes]);
    return performWithoutChecks(
      {
        inner: (inner, checked, batch) => call.inner(inner, checked, batch, id),
        evaluateAlways: (work) => call.evaluateAlways(work),
      },
      prepared,
      this.#batch,
    );
  }

  #noteNewId({ id }: Event, { recreated }: RevertPlan, { results }: Unchecked, reference: string): void {
    const newId = results[0]?.location?.split("/").at(-1);
    if (recreated === undefined || newId === undefined) return;
    const { type, formerId } = recreated;
    this.recreated.set(id, { type, formerId, id: newId });
    this.#newIds.set(formerId, newId);
    this.#references.set(newId, reference);
  }
}

/** A change with references in place of ids, as a change set takes it. */
function withReferences(change: Change, references: ReadonlyMap<string, string>): Change {
  const { path, as: name, body, ...rest } = change;
  const segments = path.split("/").map((segment) => references.get(segment) ?? segment);
  return {
    ...rest,
    path: segments.join("/"),
    ...(body === undefined ? {} : { body: finish(replaceStrings(body, references)) }),
    ...(name === undefined ? {} : { as: (references.get(`@${name}`) ?? `@${name}`).slice(1) }),
  };
}

/** Lets errors of a step point into the changes of the whole revert. */
async function pointingAt<T>(first: number, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof AppError) || first === 0) throw error;
    const { code, detail, retryAfterSeconds } = error;
    const errors = error.errors?.map(({ pointer, message }) => ({
      pointer: pointer.replace(/^\/changes\/(\d+)/, (_all, index: string) => `/changes/${first + Number(index)}`),
      message,
    }));
    const options: AppErrorOptions = {
      detail,
      cause: error,
      ...(errors === undefined ? {} : { errors }),
      ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    };
    throw new AppError(code, options);
  }
}
