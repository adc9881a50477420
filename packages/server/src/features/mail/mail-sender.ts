/**
 * Sends queued mails (docs/decisions/0108-mail.md). Every replica runs it. A replica claims mails for a time, so that a
 * mail of a replica that dies is tried again by another one.
 */
import { randomUUID } from "node:crypto";
import type { CommandRunner } from "../../platform/command.ts";
import type { Log } from "../../platform/log.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import * as queries from "./mail.queries.ts";
import { invitationMail } from "./mail-content.ts";
import { afterFailure, type MailFailure } from "./mail-schedule.rules.ts";
import { mailedTokenContext } from "./mailed-token.ts";
import type { OutgoingMail, SmtpServer } from "./smtp-server.ts";

/** The number of mails of a tenant that are sent at the same time. */
const mailsAtOnce = 5;
/** How long a claim lasts, in milliseconds: longer than an attempt. */
const claimMs = 150_000;

export interface MailSenderOptions {
  readonly runner: Pick<CommandRunner, "database" | "clock" | "secrets" | "publicUrl">;
  readonly server: Pick<SmtpServer, "send">;
  readonly log: Log;
  /** Aborted when the replica stops. Mails that are being sent are left to other replicas. */
  readonly signal: AbortSignal;
}

export class MailSender {
  readonly #options: MailSenderOptions;

  constructor(options: MailSenderOptions) {
    this.#options = options;
  }

  /**
   * Sends all mails that are due, a few of each tenant in turn. The tenants are read for each turn, so that mails that
   * are queued meanwhile do not wait for a tenant with thousands.
   */
  async run(): Promise<void> {
    const { runner, signal } = this.#options;
    const due = () => queries.tenantsWithDueMails(runner.database, runner.clock.now());
    for (let tenants = await due(); tenants.length > 0 && !signal.aborted; tenants = await due()) {
      for (const tenantId of tenants) await this.#sendSome(tenantId);
    }
  }

  async #sendSome(tenantId: string): Promise<void> {
    const { clock } = this.#options.runner;
    const now = clock.now();
    const attemptId = randomUUID();
    const until = new Date(now.getTime() + claimMs);
    const claimed = await this.#inside(tenantId, (tx) =>
      queries.claimMails(tx, { now, attemptId, until, limit: mailsAtOnce }),
    );
    await Promise.all(claimed.map((mail) => this.#send(tenantId, attemptId, mail)));
  }

  async #send(tenantId: string, attemptId: string, mail: queries.ClaimedMail): Promise<void> {
    const { runner, server, log, signal } = this.#options;
    const prepared = this.#prepare(tenantId, mail);
    const failure = "error" in prepared ? prepared : await server.send(prepared, signal);
    if (failure === "aborted") return;
    const now = runner.clock.now();
    const result: queries.MailResult =
      failure === undefined
        ? { status: "sent", failures: mail.failures, error: null, nextAttemptAt: null }
        : afterFailure(failure, { createdAt: new Date(mail.created_at), failures: mail.failures }, now);
    // The text of the server is for the tenant's administrators. It can contain the address of the user.
    if (failure !== undefined) log.warn({ tenantId, mailId: mail.id, status: result.status }, "failed to send a mail");
    await this.#inside(tenantId, (tx) => queries.settleMail(tx, { id: mail.id, attemptId }, result, now));
  }

  #prepare(tenantId: string, mail: queries.ClaimedMail): OutgoingMail | MailFailure {
    const { secrets, publicUrl, clock } = this.#options.runner;
    const { id, email, tenantName, link_id: linkId, token_ciphertext: ciphertext } = mail;
    const refuse = (error: string): MailFailure => ({ error, refused: true });
    if (mail.status === "inactive") return refuse("The user was deactivated before the mail was sent.");
    if (linkId === null) {
      const url = `${publicUrl()}/console/`;
      return { id, to: email, ...invitationMail({ email, tenantName, url, expiresAt: undefined }) };
    }
    if (mail.linkUsedAt !== null) return refuse("The link was used before the mail was sent.");
    const expiresAt = mail.linkExpiresAt ?? "";
    if (ciphertext === null || Date.parse(expiresAt) <= clock.now().getTime()) {
      return refuse("The link expired before the mail was sent.");
    }
    const token = secrets.enrolmentLinks.open(ciphertext, mailedTokenContext(tenantId, linkId));
    const url = `${publicUrl()}/console/enrol#${token}`;
    return { id, to: email, ...invitationMail({ email, tenantName, url, expiresAt }) };
  }

  #inside<T>(tenantId: string, work: (tx: TenantTx) => Promise<T>): Promise<T> {
    return this.#options.runner.database.transaction({ kind: "tenant", tenantId }, ({ query }) =>
      work({ tenantId, query }),
    );
  }
}
