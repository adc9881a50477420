/** Reads whose answers are cached while nothing in the tenant changes (docs/decisions/0100-cached-answers.md). */
import type { Operation } from "@gatehouse/contract/operation";
import type { Permission } from "@gatehouse/contract/permissions";
import { AppError } from "./app-error.ts";
import type { CommandRunner } from "./command.ts";
import type { ListQuery } from "./list-query.ts";
import type { CachedList } from "./lists/page-reader.ts";
import type { Outcome } from "./outcome.ts";
import { type HoldSecret, PreparedAnswer } from "./prepared-answer.ts";
import { questionOf } from "./question.ts";
import { readTenantState } from "./tenancy/generation.queries.ts";
import type { TenantTx } from "./tenancy/tenant-tx.ts";

/** The request whose answer is read. */
interface ReadRequest {
  readonly runner: CommandRunner;
  /** The batch that the request is part of. Only the batch's own transaction sees its earlier changes. */
  readonly batch?: object | undefined;
  readonly tenantId: string;
  readonly operation: Operation;
  readonly parameters: Readonly<Record<string, string>>;
  readonly listQuery: ListQuery | undefined;
  readonly query: Readonly<Record<string, string>>;
  /** The permissions that decide what the answer shows. */
  readonly permissions: ReadonlySet<Permission>;
  readonly now: Date;
  /** Reads in one round trip and one snapshot, or in the transaction of the batch. */
  readonly read: <T>(work: (tx: TenantTx) => Promise<T>) => Promise<T>;
}

export class CachedReads {
  readonly #request: ReadRequest;

  constructor(request: ReadRequest) {
    this.#request = request;
  }

  /**
   * Reads an answer. The caller's permissions and the request select the cached answer. No secret is cached in plain
   * text.
   *
   * @param read.load must issue all its queries before it first awaits
   * @param read.present returns the body, with `hold` for each secret
   * @param read.until the time at which the answer changes although nothing is written, in milliseconds
   * @throws AppError not_found, database_unavailable
   */
  async answer<Rows>(read: {
    readonly load: (tx: TenantTx) => Promise<Rows | undefined>;
    readonly present: (rows: Rows, hold: HoldSecret) => { readonly body: unknown; readonly version?: number };
    readonly until?: (rows: Rows) => number;
  }): Promise<Outcome> {
    const { runner, batch, operation, tenantId } = this.#request;
    const { load, present, until = () => Number.POSITIVE_INFINITY } = read;
    // A page sets the planner for its transaction, and takes long enough for its own connection.
    const sharesSnapshot = batch === undefined && operation.success.kind === "record";
    const assemble = async () => {
      const { state, rows } = sharesSnapshot
        ? await runner.snapshots.read(tenantId, load)
        : await this.#request.read(async (tx) => {
            const [state, rows] = await Promise.all([readTenantState(tx), load(tx)]);
            return { state, rows };
          });
      if (rows === undefined) throw new AppError("not_found");
      const presented = PreparedAnswer.inSlices((hold) => present(rows, hold));
      return { state, until: until(rows), answer: await runner.evaluator.decide(tenantId, presented) };
    };
    if (batch !== undefined) return { kind: "prepared", answer: (await assemble()).answer };
    return this.#cached(assemble);
  }

  /**
   * Reads a page of a list like `answer`, joined from cached records if possible.
   *
   * @param present returns the whole page, if nothing is cached
   * @throws AppError database_unavailable, invalid_parameter
   */
  async page<Row extends { readonly id: string; readonly version: number }>(
    list: CachedList<Row>,
    present: (page: { readonly rows: readonly Row[]; readonly total: number }, hold: HoldSecret) => unknown,
  ): Promise<Outcome> {
    const { runner, batch, listQuery, tenantId, operation } = this.#request;
    if (listQuery === undefined) throw new Error(`${operation.id} is not a paginated list`);
    const { pages } = runner;
    if (batch !== undefined || pages === undefined) {
      const load = (tx: TenantTx) => list.list(tx, listQuery);
      return this.answer({ load, present: (page, hold) => ({ body: present(page, hold) }) });
    }
    return this.#cached(async () => {
      const { state, answer, isJoined } = await pages.page(tenantId, list, listQuery);
      return { state, answer, until: Number.POSITIVE_INFINITY, isCheap: isJoined };
    });
  }

  /**
   * Reads a record of a list like `answer`, together with other requests for records of the list.
   *
   * @param alone reads and presents the record, if nothing is cached
   * @throws AppError not_found, database_unavailable
   */
  async record<Row extends { readonly id: string; readonly version: number }>(
    list: CachedList<Row>,
    id: string,
    alone: {
      readonly load: (tx: TenantTx) => Promise<Row | undefined>;
      readonly present: (row: Row, hold: HoldSecret) => { readonly body: unknown; readonly version: number };
    },
  ): Promise<Outcome> {
    const { runner, batch, tenantId } = this.#request;
    const { pages } = runner;
    if (batch !== undefined || pages === undefined) return this.answer(alone);
    return this.#cached(async () => {
      const read = await pages.record(tenantId, list, id);
      if (read === undefined) throw new AppError("not_found");
      return { state: read.state, answer: read.answer, until: Number.POSITIVE_INFINITY, isCheap: true };
    });
  }

  /** Answers from the cache, or loads and caches the answer. */
  async #cached(load: Parameters<CommandRunner["answers"]["answer"]>[0]["load"]): Promise<Outcome> {
    const { runner, tenantId, now } = this.#request;
    const current = () => runner.generations.state(tenantId);
    const key = questionOf(tenantId, this.#request);
    return { kind: "prepared", answer: await runner.answers.answer({ key, now, current, load }) };
  }
}
