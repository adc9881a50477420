/** An authenticated request to an operation: its caller, its parameters, and the transactions that it can run. */
import {
  type BodyOf,
  type FlagsOf,
  type Operation,
  type ParametersOf,
  takesOverrideReason,
} from "@gatehouse/contract/operation";
import type { Permission } from "@gatehouse/contract/permissions";
import type { Work } from "@gatehouse/policy/work";
import { authorize, type Granted } from "./authorization/granted.ts";
import type { KeyLimits } from "./authorization/key-limits.ts";
import { CachedReads } from "./cached-reads.ts";
import type { Actor, Origin } from "./change.ts";
import { type CommandRunner, type CommandScope, runBatch, runCommand, type Secrets } from "./command.ts";
import { type CommandBatch, runDry } from "./command-batch.ts";
import type { Transaction } from "./db/database.ts";
import type { Pauses } from "./db/paused-statements.ts";
import type { Scope } from "./db/scope.ts";
import { requireTag } from "./entity-tag.ts";
import type { IdempotencyRequest } from "./idempotency.queries.ts";
import type { CheckedRequest, RequestTarget } from "./inner-request.ts";
import { runCreation } from "./joint-commands.ts";
import type { ListQuery } from "./list-query.ts";
import type { AllowedNetworks } from "./outbound/outbound-networks.ts";
import type { TxtReads } from "./outbound/txt-reads.ts";
import type { Outcome } from "./outcome.ts";
import type { RecordReferences } from "./record-references.ts";
import type { AccessImpact } from "./tenancy/access-ledger.ts";
import type { TenantModel } from "./tenancy/tenant-models.ts";
import type { CommandTx, TenantTx } from "./tenancy/tenant-tx.ts";
import { needsValidCredential, withValidCredential } from "./valid-credential.ts";

/** Finds the operations of requests inside a request. */
export interface RequestFinder {
  /** Returns undefined if no operation has this method and path. */
  find(request: RequestTarget): FoundRequest | undefined;
}

/** A request inside a request. */
export interface FoundRequest {
  readonly operation: Operation;
  /**
   * Validates the request against the operation's declaration, in slices. Trims strings of the body in place.
   *
   * @throws the work: AppError invalid_parameter, invalid_body, invalid_json
   */
  check(body: unknown): Work<CheckedRequest>;
  /** @throws AppError like the request itself */
  perform(call: Call<Operation>): Promise<Outcome>;
}

export interface CallOptions<O extends Operation> {
  readonly runner: CommandRunner;
  readonly plannedRequests: RequestFinder;
  /** The batch in which commands are performed; undefined for a request that is not part of another. */
  readonly batch?: CommandBatch | undefined;
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
  /** Repeats the authorization of the request. */
  readonly authorizeAgain: () => Promise<unknown>;
  readonly actor: Actor;
  readonly permissions: ReadonlySet<Permission>;
  /** The permissions that decide what the answer shows. */
  readonly shownPermissions: ReadonlySet<Permission>;
  /** Undefined for the operator, who has no limits. */
  readonly limits: KeyLimits | undefined;
  /** The session in which a person acts; undefined for keys. */
  readonly session?: { readonly id: string; readonly userId: string } | undefined;
  /** Refuses a caller whose session was ended, or whose key was deleted or has expired. Locks nothing. */
  readonly requireValidCredential: (tx: TenantTx) => Promise<void>;
  /** Refuses a person who has not authenticated recently. */
  readonly requireRecentAuthentication: () => void;
  /** Undefined for the operator. */
  readonly tenantId: string | undefined;
  readonly requestId: string;
  readonly sourceAddress: string | undefined;
  readonly ifMatch: string | undefined;
  /** The caller's reason for overriding access tests. */
  readonly overrideReason: string | undefined;
  readonly idempotency: IdempotencyRequest | undefined;
  /** The id of the event that the request reverts; undefined if it is not part of a revert. */
  readonly reverts?: string | undefined;
  /** The pauses of a long request while other tenants are active. */
  readonly pauses?: Pauses | undefined;
  readonly now: Date;
}

export class Call<O extends Operation> {
  readonly #options: CallOptions<O>;
  #endsOwnKey = false;
  readonly granted: Granted<Extract<O["access"], Permission>>;

  constructor(options: CallOptions<O>, granted: Granted<Extract<O["access"], Permission>>) {
    this.#options = options;
    this.granted = granted;
  }

  /** Finds the operations of requests inside this request. */
  get plannedRequests(): RequestFinder {
    return this.#options.plannedRequests;
  }

  /**
   * Runs work of this caller in a transaction that is always rolled back. No command of the tenant runs concurrently,
   * so the work must be short. It can run more than once.
   *
   * @throws AppError database_unavailable
   */
  runDry<T>(work: (batch: CommandBatch) => Promise<T>): Promise<T> {
    const { runner, pauses } = this.#options;
    return runDry(runner, this.tenantId, work, pauses);
  }

  /**
   * Runs commands of this caller in one transaction, as one command of this operation. No command of the tenant runs
   * concurrently, so the work must be short. It can run more than once.
   *
   * @param changesAccess whether any of the commands depends on access or can change it
   * @throws AppError change_set_too_long, database_unavailable
   */
  runBatch(changesAccess: boolean, work: (batch: CommandBatch) => Promise<Outcome>): Promise<Outcome> {
    const { origin, idempotency, tenantId } = this;
    return runBatch(this.#options.runner, { tenantId, origin, idempotency, changesAccess }, work);
  }

  /**
   * The call of a request inside this request: the same caller, in a batch.
   *
   * @param checked the result of the request's check
   * @param reverts the id of the event that the request reverts
   * @throws AppError permission_denied
   */
  inner(operation: Operation, checked: CheckedRequest, batch: CommandBatch, reverts?: string): Call<Operation> {
    const { access } = operation;
    if (access === "operator" || access === "any-key" || access === "person")
      throw new Error(`${operation.id} is not an operation inside a tenant`);
    const granted = authorize(this.permissions, access);
    const request = { operation, ...checked, listQuery: undefined, flags: new Set<string>(), query: {} };
    const options = {
      ...this.#options,
      ...request,
      lastEventId: undefined,
      ifMatch: checked.ifMatch,
      overrideReason: takesOverrideReason(operation) ? this.overrideReason : undefined,
      idempotency: undefined,
      reverts,
      batch,
    };
    // The body was checked against the operation's declaration.
    return new Call(options as ConstructorParameters<typeof Call<Operation>>[0], granted);
  }

  get parameters(): ParametersOf<O> {
    return this.#options.parameters;
  }

  get body(): BodyOf<O> {
    return this.#options.body;
  }

  /** The query of a paginated list. */
  get listQuery(): ListQuery {
    const { listQuery, operation } = this.#options;
    if (listQuery === undefined) throw new Error(`${operation.id} is not a paginated list`);
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

  /** The last event that the client received, according to the client. */
  get lastEventId(): string | undefined {
    return this.#options.lastEventId;
  }

  /**
   * Repeats the authorization for long-lived responses, because the key may have been revoked since.
   *
   * @throws AppError like the original request
   */
  async authorizeAgain(): Promise<void> {
    await this.#options.authorizeAgain();
  }

  /** The signer and the followers of the audit record. */
  get audit(): CommandRunner["audit"] {
    return this.#options.runner.audit;
  }

  get now(): Date {
    return this.#options.now;
  }

  /** The time of heartbeats of gateways, by the database's clock. */
  get sharedNow(): Date {
    return this.#options.runner.sharedTime.now();
  }

  get actor(): Actor {
    return this.#options.actor;
  }

  /** Every permission that the caller holds. */
  get permissions(): ReadonlySet<Permission> {
    return this.#options.permissions;
  }

  /**
   * The permissions that decide which secrets the answer shows: those that the caller holds, without `gateways:token`
   * for people who have not authenticated recently, and for people in replies to writes that are not dangerous.
   */
  get shownPermissions(): ReadonlySet<Permission> {
    return this.#options.shownPermissions;
  }

  /** Further limits of the caller's key; undefined for the operator, who has no limits. */
  get limits(): KeyLimits | undefined {
    return this.#options.limits;
  }

  /** The session in which a person acts; undefined for keys. */
  get session(): { readonly id: string; readonly userId: string } | undefined {
    return this.#options.session;
  }

  /**
   * Refuses a person who has not authenticated recently: for requests whose content is dangerous. Previews do not ask.
   *
   * @throws AppError recent_authentication_required
   */
  requireRecentAuthentication(): void {
    if (this.#options.batch?.isDry !== true) this.#options.requireRecentAuthentication();
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

  /** Networks outside the internet that webhooks can reach. */
  get webhookNetworks(): AllowedNetworks {
    return this.#options.runner.webhookNetworks;
  }

  /** Networks outside the internet that identity providers can be in. */
  get providerNetworks(): AllowedNetworks {
    return this.#options.runner.providerNetworks;
  }

  /** The mails of the tenant per day; undefined if the server sends none. */
  get mailsPerDay(): number | undefined {
    return this.#options.runner.mailsPerDay;
  }

  /** Reads the TXT records that prove the ownership of domains. */
  get txtReads(): TxtReads {
    return this.#options.runner.txtReads;
  }

  /** The address at which browsers reach the server. */
  get publicUrl(): string {
    return this.#options.runner.publicUrl();
  }

  get origin(): Origin {
    const { actor, operation, requestId, sourceAddress, now, overrideReason: reason, reverts } = this.#options;
    return { actor, operation: operation.id, requestId, sourceAddress, at: now, reason, reverts };
  }

  get idempotency(): IdempotencyRequest | undefined {
    return this.#options.idempotency;
  }

  /**
   * Reads in one round trip and one snapshot. `work` must issue all its queries before it first awaits.
   *
   * @throws AppError database_unavailable
   */
  read<T>(work: (tx: TenantTx) => Promise<T>): Promise<T> {
    const { tenantId } = this;
    const { runner, batch, pauses } = this.#options;
    // Only the batch's own transaction sees its earlier changes.
    if (batch !== undefined) return batch.read(work);
    const reading = ({ query }: Transaction) => work({ tenantId, query });
    return runner.database.snapshot({ kind: "tenant", tenantId }, reading, pauses);
  }

  /** Reads whose answers are cached while nothing in the tenant changes. */
  get reads(): CachedReads {
    return new CachedReads({
      ...this.#options,
      permissions: this.shownPermissions,
      tenantId: this.tenantId,
      read: (work) => this.read(work),
    });
  }

  /**
   * The tenant's model for decisions, as of this request or later. Not inside a command: it can need a connection.
   *
   * @throws AppError database_unavailable
   */
  model(): Promise<TenantModel> {
    return this.#options.runner.models.current(this.tenantId);
  }

  /**
   * Evaluates access in slices, within the budgets of the request and of the tenant.
   *
   * @param subject what is evaluated, as the subject of a sentence: "The decisions of this batch"
   * @throws AppError evaluation_too_expensive, evaluation_rate_exceeded
   */
  evaluate<Result>(subject: string, work: Work<Result>): Promise<Result> {
    return this.#options.runner.evaluator.answer(this.tenantId, subject, work);
  }

  /**
   * Like `evaluate`, for operations of people without permissions.
   *
   * @throws AppError evaluation_too_expensive, evaluation_rate_exceeded
   */
  evaluateForPerson<Result>(userId: string, subject: string, work: Work<Result>): Promise<Result> {
    return this.#options.runner.evaluator.answerPerson(this.tenantId, userId, subject, work);
  }

  /** Evaluates in slices what cannot be refused, such as enforced access tests. */
  evaluateAlways<Result>(work: Work<Result>): Promise<Result> {
    return this.#options.runner.evaluator.decide(this.tenantId, work);
  }

  /** The model at a past point in time, or the time since which models are available. */
  modelAt(at: Date): ReturnType<CommandRunner["models"]["at"]> {
    return this.#options.runner.models.at(this.tenantId, at);
  }

  /**
   * Opens the ledger with which a command evaluates access in its own transaction. Not inside a command: it can need a
   * connection.
   *
   * @throws AppError database_unavailable
   */
  async openLedger(): Promise<AccessImpact> {
    const { batch, runner } = this.#options;
    // A batch has opened the ledger, and holds a connection.
    return batch === undefined ? runner.ledger.open(this.tenantId) : batch.openLedger();
  }

  /** The caller's reason for overriding access tests, or undefined. */
  get overrideReason(): string | undefined {
    return this.#options.overrideReason;
  }

  /** Reads across all tenants, for operator operations. See `read`. */
  readAsOperator<T>(work: (transaction: Transaction) => Promise<T>): Promise<T> {
    return this.#options.runner.database.snapshot({ kind: "operator" }, work);
  }

  /**
   * Runs a command: one transaction with its audit and outbox entries and, for requests with an Idempotency-Key, its
   * stored reply. `work` can run more than once, so it must change nothing but the database.
   */
  command(work: (tx: CommandTx) => Promise<Outcome>): Promise<Outcome> {
    const { tenantId } = this;
    return this.commandIn({ kind: "tenant", tenantId }, tenantId, work);
  }

  /**
   * Runs a command that creates records and changes no others, like `command`. Such commands of one tenant share
   * transactions if they arrive together. Commands of people run alone if they check the session: the check would hold
   * up the other commands. API keys are not checked.
   *
   * @param count the number of records that the command creates
   * @param work must announce what it creates
   */
  creation(count: number, work: (tx: CommandTx) => Promise<Outcome>): Promise<Outcome> {
    const { tenantId, origin, idempotency } = this;
    const { runner, operation, batch } = this.#options;
    if (this.session !== undefined && this.#needsValidCredential) return this.command(work);
    if (batch !== undefined) return batch.perform(origin, work);
    const changesAccess = operation.changesAccess === true;
    const scope = { scope: { kind: "tenant", tenantId }, tenantId, origin, idempotency, changesAccess } as const;
    return runCreation(runner, scope, count, work);
  }

  /** Runs a command while no other command of the tenant runs: for commands that read and write the whole tenant. */
  commandAlone(work: (tx: CommandTx) => Promise<Outcome>): Promise<Outcome> {
    const { tenantId } = this;
    return this.#run({ scope: { kind: "tenant", tenantId }, tenantId, alone: true }, work);
  }

  /** Runs a command in the given scope, for operator operations. */
  commandIn(scope: Scope, tenantId: string, work: (tx: CommandTx) => Promise<Outcome>): Promise<Outcome> {
    return this.#run({ scope, tenantId }, work);
  }

  #run(
    command: Pick<CommandScope, "scope" | "tenantId" | "alone">,
    work: (tx: CommandTx) => Promise<Outcome>,
  ): Promise<Outcome> {
    const { runner, operation, batch, pauses } = this.#options;
    const { origin, idempotency } = this;
    const isAlone = batch !== undefined || command.alone === true;
    const perform = this.#needsValidCredential
      ? withValidCredential(work, {
          require: this.#options.requireValidCredential,
          isAlone,
          endsOwnKey: () => this.#endsOwnKey,
        })
      : work;
    if (batch !== undefined) return batch.perform(origin, perform);
    const changesAccess = operation.changesAccess === true;
    return runCommand(runner, { ...command, origin, idempotency, changesAccess, pauses }, perform);
  }

  get #needsValidCredential(): boolean {
    return needsValidCredential(this.#options.operation, this.#options);
  }

  /** Leaves out the check of the caller's key. The command ends the key, and checks it under the lock of its row. */
  endOwnKey(): void {
    this.#endsOwnKey = true;
  }

  /**
   * Compares the caller's If-Match with the version of the record that the command is about to change.
   *
   * @throws AppError precondition_failed
   */
  requireVersion(version: number): void {
    requireTag(this.#options.ifMatch, version, "the record's ETag");
  }

  /**
   * Like `requireVersion`, for operations whose If-Match is the tenant's generation.
   *
   * @throws AppError precondition_failed
   */
  requireGeneration(generation: number): void {
    requireTag(this.#options.ifMatch, generation, "the tenant's generation");
  }
}
