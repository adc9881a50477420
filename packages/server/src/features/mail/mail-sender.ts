/**
 * Sends queued emails (docs/decisions/0108-mail.md). Every replica runs it. A replica claims emails for a time, so that
 * an email of a replica that dies is retried by another replica. The batches of tenants are sent concurrently, so that
 * slow recipients of one tenant only delay its own emails (docs/decisions/0262-shares-and-limits-of-mails.md).
 */
import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { isTemporary } from "../../platform/background-failures.ts";
import type { CommandRunner } from "../../platform/command.ts";
import { allSettled } from "../../platform/concurrency/all-settled.ts";
import { shortWaitMs } from "../../platform/concurrency/lock-wait-slots.ts";
import { Semaphore } from "../../platform/concurrency/semaphore.ts";
import { TenantRetries } from "../../platform/concurrency/tenant-retries.ts";
import type { TenantScope } from "../../platform/db/scope.ts";
import type { Log } from "../../platform/log.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import * as queries from "./mail.queries.ts";
import { invitationMail } from "./mail-content.ts";
import { afterFailure, type MailFailure, type MailResult } from "./mail-schedule.rules.ts";
import { mailedTokenContext } from "./mailed-token.ts";
import type { OutgoingMail, SmtpServer } from "./smtp-server.ts";

/** The number of emails that are sent at the same time, each on a connection of its own. */
const maxConnections = 20;
/** The number of emails in a batch of a tenant, which are sent at the same time. */
const mailsAtOnce = 5;
/** How long a claim lasts, in milliseconds: longer than an attempt. */
const claimMs = 150_000;

export interface MailSenderOptions {
  readonly runner: Pick<CommandRunner, "database" | "clock" | "secrets" | "publicUrl">;
  readonly server: Pick<SmtpServer, "send">;
  readonly log: Log;
  /** Aborted when the replica stops. Emails that are being sent are left to other replicas. */
  readonly signal: AbortSignal;
  /** The time between two searches for due emails while others are being sent, in milliseconds. */
  readonly intervalMs: number;
}

/** Emails of a tenant that this replica has claimed. */
interface Batch {
  readonly tenantId: string;
  readonly attemptId: string;
  /** When another replica may send the emails. */
  readonly until: Date;
  /** One result is stored at a time. */
  readonly settling: Semaphore;
}

export class MailSender {
  readonly #options: MailSenderOptions;
  readonly #retries = new TenantRetries();
  /** The tenants whose batch is being sent. */
  readonly #sending = new Map<string, Promise<void>>();
  /** The tenants that wait for their next batch. */
  #waiting: string[] = [];
  #freeConnections = maxConnections;
  /** Whether a batch has ended, or the batch of a waiting tenant can start, since `run` last waited for that. */
  #isAwake = false;
  #wake: () => void = () => undefined;

  constructor(options: MailSenderOptions) {
    this.#options = options;
  }

  /**
   * Sends all emails that are due, in batches of a few emails of one tenant. The tenants are read again when each has
   * had a batch, so that no tenant waits for another one with thousands of emails. Settles after all batches, even if
   * it fails.
   *
   * @throws the error of a search while no batch is being sent
   */
  async run(): Promise<void> {
    try {
      await this.#startBatches();
    } finally {
      this.#waiting = [];
      await Promise.all(this.#sending.values());
    }
  }

  async #startBatches(): Promise<void> {
    for (;;) {
      if (this.#waiting.length === 0) this.#waiting = await this.#idleTenants();
      while (this.#freeConnections > 0) {
        const tenantId = this.#waiting.shift();
        if (tenantId === undefined) break;
        this.#sending.set(tenantId, this.#sendBatch(tenantId));
      }
      if (this.#sending.size === 0) return;
      await this.#endedOrInterval();
      if (this.#options.signal.aborted) this.#waiting = [];
    }
  }

  /** The tenants with emails that are due, except for paused tenants and those whose batch is being sent. */
  async #idleTenants(): Promise<string[]> {
    const { runner, signal, log } = this.#options;
    if (signal.aborted) return [];
    let tenants: readonly string[] = [];
    try {
      tenants = await queries.tenantsWithDueMails(runner.database, runner.clock.now());
    } catch (error) {
      if (this.#sending.size === 0) throw error;
      // The batches in progress can take minutes. Other tenants must not wait for them.
      log.warn({ err: error }, "failed to search for due emails; will retry");
    }
    return tenants.filter((tenantId) => !this.#sending.has(tenantId) && this.#retries.isDue(tenantId));
  }

  /** Never rejects. The emails of a batch that failed are claimed by a later one. */
  async #sendBatch(tenantId: string): Promise<void> {
    try {
      // If nothing was claimed, a command holds the locks, or another replica claimed the emails first.
      if ((await this.#sendSome(tenantId)) > 0) this.#retries.succeeded(tenantId);
      else this.#retries.postpone(tenantId);
    } catch (error) {
      const retryMs = this.#retries.failed(tenantId);
      this.#options.log.warn({ tenantId, err: error, retryMs }, "failed to send emails of a tenant; will retry");
    }
    this.#sending.delete(tenantId);
    this.#wakeUp();
  }

  /** @returns the number of emails that were claimed */
  async #sendSome(tenantId: string): Promise<number> {
    const { clock } = this.#options.runner;
    const now = clock.now();
    const attemptId = randomUUID();
    const until = new Date(now.getTime() + claimMs);
    // Connections are left to the next tenants, so that a few tenants cannot take all of them.
    const limit = Math.min(mailsAtOnce, Math.ceil(this.#freeConnections / 2));
    this.#freeConnections -= limit;
    let claimed: readonly queries.ClaimedMail[] = [];
    try {
      const waitMs = this.#retries.waitMs(tenantId);
      claimed = await this.#inside({ kind: "tenant", tenantId, waitMs }, (tx) =>
        queries.claimMails(tx, { now, attemptId, until, limit }),
      );
    } finally {
      this.#free(limit - claimed.length);
    }
    const batch = { tenantId, attemptId, until, settling: new Semaphore(1) };
    await allSettled(claimed.map((mail) => this.#send(batch, mail)));
    return claimed.length;
  }

  #free(connections: number): void {
    this.#freeConnections += connections;
    if (connections > 0 && this.#waiting.length > 0) this.#wakeUp();
  }

  #wakeUp(): void {
    this.#isAwake = true;
    this.#wake();
  }

  async #endedOrInterval(): Promise<void> {
    if (!this.#isAwake) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, this.#options.intervalMs);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.#isAwake = false;
  }

  async #send(batch: Batch, mail: queries.ClaimedMail): Promise<void> {
    const { runner, log } = this.#options;
    const { tenantId, attemptId } = batch;
    // Another tenant can use the connection while the result waits for a lock.
    const failure = await this.#attempt(tenantId, mail).finally(() => this.#free(1));
    if (failure === "aborted") return;
    const now = runner.clock.now();
    const result: MailResult =
      failure === undefined
        ? { status: "sent", failures: mail.failures, error: null, nextAttemptAt: null }
        : afterFailure(failure, { createdAt: new Date(mail.created_at), failures: mail.failures }, now);
    // The text of the server is for the tenant's administrators. It can contain the address of the user.
    if (failure !== undefined)
      log.warn({ tenantId, mailId: mail.id, status: result.status }, "failed to send an email");
    await this.#settle(batch, (tx) => queries.settleMail(tx, { id: mail.id, attemptId }, result, now));
  }

  /**
   * Stores the result of an email, one at a time per tenant, so that a locked tenant blocks few connections. Retries
   * until the claim expires, and once more at shutdown: without a result, the email is sent again.
   */
  async #settle({ tenantId, until, settling }: Batch, settle: (tx: TenantTx) => Promise<void>): Promise<void> {
    const { runner, signal } = this.#options;
    await settling.acquire();
    try {
      for (;;) {
        const isLast = signal.aborted;
        const waitMs = isLast ? shortWaitMs : this.#retries.waitMs(tenantId);
        try {
          return await this.#inside({ kind: "tenant", tenantId, waitMs }, settle);
        } catch (error) {
          const leftMs = until.getTime() - runner.clock.now().getTime();
          if (!isTemporary(error) || isLast || leftMs <= 0) throw error;
          const pauseMs = Math.min(this.#retries.failed(tenantId), leftMs);
          await pause(pauseMs, undefined, { signal }).catch(() => undefined);
        }
      }
    } finally {
      settling.release();
    }
  }

  async #attempt(tenantId: string, mail: queries.ClaimedMail): ReturnType<SmtpServer["send"]> {
    const { server, signal } = this.#options;
    const prepared = this.#prepare(tenantId, mail);
    return "error" in prepared ? prepared : server.send(prepared, signal);
  }

  #prepare(tenantId: string, mail: queries.ClaimedMail): OutgoingMail | MailFailure {
    const { secrets, publicUrl, clock } = this.#options.runner;
    const { id, email, tenantName, link_id: linkId, token_ciphertext: ciphertext } = mail;
    const refuse = (error: string): MailFailure => ({ error, refused: true });
    if (mail.status === "inactive") return refuse("The user was deactivated before the email was sent.");
    if (linkId === null) {
      const url = `${publicUrl()}/console/`;
      return { id, to: email, ...invitationMail({ email, tenantName, url, expiresAt: undefined }) };
    }
    if (mail.linkUsedAt !== null) return refuse("The link was used before the email was sent.");
    const expiresAt = mail.linkExpiresAt ?? "";
    if (ciphertext === null || Date.parse(expiresAt) <= clock.now().getTime()) {
      return refuse("The link expired before the email was sent.");
    }
    const token = secrets.enrolmentLinks.open(ciphertext, mailedTokenContext(tenantId, linkId));
    const url = `${publicUrl()}/console/enrol#${token}`;
    return { id, to: email, ...invitationMail({ email, tenantName, url, expiresAt }) };
  }

  #inside<T>(scope: TenantScope, work: (tx: TenantTx) => Promise<T>): Promise<T> {
    const { tenantId } = scope;
    return this.#options.runner.database.transaction(scope, ({ query }) => work({ tenantId, query }));
  }
}
