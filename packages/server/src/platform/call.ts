/** One authenticated request to an operation: who asks, for what, and the transactions it may run. */
import type { BodyOf, FlagsOf, Operation, ParametersOf } from "@gatehouse/contract/operation";
import type { Permission } from "@gatehouse/contract/permissions";
import { AppError } from "./app-error.ts";
import { authorize, type Granted } from "./authorization/granted.ts";
import type { Actor, Origin } from "./change.ts";
import { type CommandRunner, type CommandScope, runCommand, type Secrets } from "./command.ts";
import type { Scope, Transaction } from "./db/database.ts";
import type { IdempotencyRequest } from "./idempotency.queries.ts";
import type { ListQuery } from "./list-query.ts";
import type { AllowedNetworks } from "./outbound/outbound-networks.ts";
import type { Outcome, RecordOutcome } from "./outcome.ts";
import type { KeptRecord } from "./record-cache.ts";
import type { RecordReferences } from "./record-references.ts";
import { type Rehearsal, rehearse } from "./rehearsal.ts";
import type { LedgerPage } from "./tenancy/access-ledger.ts";
import { readGeneration } from "./tenancy/generation.queries.ts";
import type { TenantModel } from "./tenancy/tenant-models.ts";
import type { CommandTx, TenantTx } from "./tenancy/tenant-tx.ts";

/** What a caller's key is held to besides its permissions. */
export interface KeyLimits {
  /** ISO 8601; null for a key that works for ever. */
  readonly expiresAt: string | null;
  /** Addresses and CIDRs that it may be used from; empty for any. */
  readonly sourceIps: readonly string[];
}

/** A request as a caller would send it. */
export interface RequestText {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
}

/** Finds the operations that requests inside a request go to. */
export interface RequestFinder {
  /** @returns undefined where no operation has this method and path */
  find(request: RequestText): FoundRequest | undefined;
}

/** A request inside a request. */
export interface FoundRequest {
  readonly operation: Operation;
  /**
   * Holds the request against the operation's declaration.
   *
   * @throws AppError invalid_parameter, invalid_body, invalid_json
   */
  check(): { readonly parameters: Readonly<Record<string, string>>; readonly body: unknown };
  /** @throws AppError as the request itself would be answered */
  perform(call: Call<Operation>): Promise<Outcome>;
}

export interface CallOptions<O extends Operation> {
  readonly runner: CommandRunner;
  readonly plannedRequests: RequestFinder;
  /** Where commands are performed that are not to be done; undefined for a request that was really sent. */
  readonly rehearsal?: Rehearsal | undefined;
  readonly operation: O;
  readonly parameters: ParametersOf<O>;
  readonly body: BodyOf<O>;
  readonly listQuery: ListQuery | undefined;
  /** The names of the flags that the query sets. */
  readonly flags: ReadonlySet<string>;
  /** Query parameters that the operation declares by name. */
  readonly query: Readonly<Record<string, string>>;
  /** The header Last-Event-ID. */
  readonly lastEventId: string | undefined;
  /** Asks anew whether the caller may do this. */
  readonly authorizeAgain: () => Promise<unknown>;
  readonly actor: Actor;
  readonly permissions: ReadonlySet<Permission>;
  /** Undefined for the operator, whom nothing limits. */
  readonly limits: KeyLimits | undefined;
  /** Undefined for the operator. */
  readonly tenantId: string | undefined;
  readonly requestId: string;
  readonly sourceAddress: string | undefined;
  readonly ifMatch: string | undefined;
  /** Why the caller would have access tests broken. */
  readonly overrideReason: string | undefined;
  readonly idempotency: IdempotencyRequest | undefined;
  readonly now: Date;
}

export class Call<O extends Operation> {
  readonly #options: CallOptions<O>;
  readonly granted: Granted<Extract<O["access"], Permission>>;

  constructor(options: CallOptions<O>, granted: Granted<Extract<O["access"], Permission>>) {
    this.#options = options;
    this.granted = granted;
  }

  /** Requests inside this one. */
  get plannedRequests(): RequestFinder {
    return this.#options.plannedRequests;
  }

  /**
   * Runs work of this caller that is undone at the end, whatever it does. No command of the tenant runs beside it, so it has
   * to be short. It may run more than once.
   *
   * @throws AppError database_unavailable
   */
  rehearse<T>(work: (rehearsal: Rehearsal) => Promise<T>): Promise<T> {
    return rehearse(this.#options.runner, this.tenantId, work);
  }

  /**
   * The call of a request inside this one: of the same caller, in a rehearsal.
   *
   * @param checked what its check gave
   * @throws AppError permission_denied
   */
  inner(operation: Operation, checked: ReturnType<FoundRequest["check"]>, rehearsal: Rehearsal): Call<Operation> {
    const { access } = operation;
    if (access === "operator") throw new Error(`${operation.id} is not an operation inside a tenant`);
    const granted = authorize(this.permissions, access);
    const request = { operation, ...checked, listQuery: undefined, flags: new Set<string>(), query: {} };
    const options = {
      ...this.#options,
      ...request,
      lastEventId: undefined,
      ifMatch: undefined,
      idempotency: undefined,
    };
    // The body was checked against the operation's declaration.
    return new Call({ ...options, rehearsal } as ConstructorParameters<typeof Call<Operation>>[0], granted);
  }

  get parameters(): ParametersOf<O> {
    return this.#options.parameters;
  }

  get body(): BodyOf<O> {
    return this.#options.body;
  }

  /** What a paginated list was asked for. */
  get listQuery(): ListQuery {
    const { listQuery, operation } = this.#options;
    if (listQuery === undefined) throw new Error(`${operation.id} is no paginated list`);
    return listQuery;
  }

  /** Whether the query sets a flag of the operation. */
  isSet(flag: FlagsOf<O>): boolean {
    return this.#options.flags.has(flag);
  }

  /** A query parameter that the operation declares by name. */
  queryParameter(name: string): string | undefined {
    return this.#options.query[name];
  }

  /** What the client saw last of a stream, by its own account. */
  get lastEventId(): string | undefined {
    return this.#options.lastEventId;
  }

  /**
   * For answers that go on: asks anew whether the caller may do this, as the key may have been revoked since.
   *
   * @throws AppError as when the request came
   */
  async authorizeAgain(): Promise<void> {
    await this.#options.authorizeAgain();
  }

  /** What signs the audit record, and who follows it. */
  get audit(): CommandRunner["audit"] {
    return this.#options.runner.audit;
  }

  get now(): Date {
    return this.#options.now;
  }

  get actor(): Actor {
    return this.#options.actor;
  }

  /** Every permission that the caller holds. */
  get permissions(): ReadonlySet<Permission> {
    return this.#options.permissions;
  }

  /** What else the caller's key is held to; undefined for the operator, whom nothing limits. */
  get limits(): KeyLimits | undefined {
    return this.#options.limits;
  }

  /** The tenant that the caller's key belongs to. */
  get tenantId(): string {
    const { tenantId, operation } = this.#options;
    if (tenantId === undefined) throw new Error(`${operation.id} is not an operation inside a tenant`);
    return tenantId;
  }

  /** References between records. */
  get references(): RecordReferences {
    return this.#options.runner.references;
  }

  get secrets(): Secrets {
    return this.#options.runner.secrets;
  }

  /** Where webhooks may lead besides the internet. */
  get webhookNetworks(): AllowedNetworks {
    return this.#options.runner.webhookNetworks;
  }

  get origin(): Origin {
    const { actor, operation, requestId, sourceAddress, now, overrideReason: reason } = this.#options;
    return { actor, operation: operation.id, requestId, sourceAddress, at: now, reason };
  }

  get idempotency(): IdempotencyRequest | undefined {
    return this.#options.idempotency;
  }

  /**
   * Reads in one round trip and one snapshot; `work` asks for all its queries before it first waits.
   *
   * @throws AppError database_unavailable
   */
  read<T>(work: (tx: TenantTx) => Promise<T>): Promise<T> {
    const { tenantId } = this;
    const { rehearsal } = this.#options;
    // What was rehearsed before is seen by nobody else.
    if (rehearsal !== undefined) return rehearsal.read(work);
    return this.#options.runner.database.snapshot({ kind: "tenant", tenantId }, (transaction) =>
      work({ tenantId, query: transaction.query }),
    );
  }

  /**
   * Reads a record that only commands change; while nothing in the tenant changes, its row is read once. Not for records
   * whose answer depends on the time.
   *
   * @param read.secret whether this caller is shown secrets: such an answer is not kept, only the row with them sealed
   * @param read.load as the `work` of `read`
   * @throws AppError not_found
   */
  async readRecord<Row extends object>(read: {
    readonly secret: boolean;
    readonly load: (tx: TenantTx) => Promise<Row | undefined>;
    readonly present: (row: Row) => RecordOutcome;
  }): Promise<Outcome> {
    const { operation, parameters, runner } = this.#options;
    const { secret, load, present } = read;
    const key = [this.tenantId, operation.id, ...Object.values(parameters), secret].join(" ");
    const known = runner.records.find(key);
    const current = known !== undefined && (await runner.generations.current(this.tenantId)) === known.generation;
    runner.records.noteLookUp(current);
    if (current) {
      const { kept } = known;
      return kept.kind === "answer" ? kept.outcome : present(JSON.parse(kept.text) as Row); // as kept under this key, below
    }
    const [generation, row] = await this.read((tx) => Promise.all([readGeneration(tx), load(tx)]));
    if (row === undefined) throw new AppError("not_found");
    const outcome = present(row);
    if (generation !== undefined) {
      const { body, ...rest } = outcome;
      const text = JSON.stringify(secret ? row : body);
      const kept = secret ? { kind: "row", text } : { kind: "answer", outcome: { ...rest, body: undefined, text } };
      runner.records.remember(key, generation, kept as KeptRecord); // the two forms of it
    }
    return outcome;
  }

  /**
   * What decisions in the tenant are made from, as of this request or later. Not inside a command: it may need a connection.
   *
   * @throws AppError database_unavailable
   */
  model(): Promise<TenantModel> {
    return this.#options.runner.models.current(this.tenantId);
  }

  /** As `model`, as of a moment that is past; or since when that is known. */
  modelAt(at: Date): ReturnType<CommandRunner["models"]["at"]> {
    return this.#options.runner.models.at(this.tenantId, at);
  }

  /**
   * What tells a command what access is made from in its own transaction. Not inside a command: it may need a connection.
   *
   * @throws AppError database_unavailable
   */
  openLedger(): Promise<LedgerPage> {
    return this.#options.runner.ledger.open(this.tenantId);
  }

  /** Why the caller would have access tests broken; undefined where they would not. */
  get overrideReason(): string | undefined {
    return this.#options.overrideReason;
  }

  /** As `read`, but over every tenant: for operations of the operator. */
  readAsOperator<T>(work: (transaction: Transaction) => Promise<T>): Promise<T> {
    return this.#options.runner.database.snapshot({ kind: "operator" }, work);
  }

  /**
   * Runs a command: one transaction with its audit and outbox entries, and its stored reply where the caller sent an
   * Idempotency-Key. May run `work` more than once, so it must change nothing but the database.
   */
  command(work: (tx: CommandTx) => Promise<Outcome>): Promise<Outcome> {
    const { tenantId } = this;
    return this.commandIn({ kind: "tenant", tenantId }, tenantId, work);
  }

  /** As `command`, but no other command of the tenant runs beside it: for one that reads and writes all of the tenant. */
  commandAlone(work: (tx: CommandTx) => Promise<Outcome>): Promise<Outcome> {
    const { tenantId } = this;
    return this.#run({ scope: { kind: "tenant", tenantId }, tenantId, alone: true }, work);
  }

  /** As `command`, in a scope of the caller's choosing: for operations of the operator. */
  commandIn(scope: Scope, tenantId: string, work: (tx: CommandTx) => Promise<Outcome>): Promise<Outcome> {
    return this.#run({ scope, tenantId }, work);
  }

  #run(
    command: Pick<CommandScope, "scope" | "tenantId" | "alone">,
    work: (tx: CommandTx) => Promise<Outcome>,
  ): Promise<Outcome> {
    const { runner, operation, rehearsal } = this.#options;
    if (rehearsal !== undefined) return rehearsal.perform(work);
    const { origin, idempotency } = this;
    const changesAccess = operation.changesAccess === true;
    return runCommand(runner, { ...command, origin, idempotency, changesAccess }, work);
  }

  /**
   * Checks the caller's If-Match against the version of the record that the command is about to change.
   *
   * @throws AppError precondition_failed
   */
  requireVersion(version: number): void {
    const { ifMatch } = this.#options;
    if (ifMatch === undefined || ifMatch.trim() === "*") return;
    const current = entityTag(version);
    // Strong comparison (RFC 9110, section 13.1.1): a weak tag matches nothing.
    if (ifMatch.split(",").some((tag) => tag.trim() === current)) return;
    throw new AppError("precondition_failed", {
      detail: `If-Match is ${ifMatch.slice(0, 200)}, but the record's ETag is now ${current}.`,
    });
  }
}

/** The ETag of a record's version. */
export function entityTag(version: number): string {
  return `"${version}"`;
}
