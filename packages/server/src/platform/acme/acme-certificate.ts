/**
 * A certificate that the server gets by ACME, and renews (docs/decisions/0133). All replicas share it through the
 * database, and one of them orders at a time.
 */
import { X509Certificate } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import type { BackgroundTask } from "../background-task.ts";
import type { Clock } from "../clock.ts";
import type { Database } from "../db/database.ts";
import type { Log } from "../log.ts";
import type { SecretBox } from "../secrets/master-key.ts";
import type { ServedCertificate, TlsPair } from "../served-certificate.ts";
import * as queries from "./acme.queries.ts";
import { acmeTasks } from "./acme-tasks.ts";
import {
  type AcmeChallengeType,
  challengeCertificate,
  createAccountKey,
  type OrderedCertificate,
  orderCertificate,
  orderProblem,
  requireServable,
} from "./order-certificate.ts";

export interface AcmeCertificateOptions extends queries.AcmeName {
  readonly contact: string | undefined;
  readonly challengeType: AcmeChallengeType;
  readonly database: Database;
  readonly box: SecretBox;
  readonly clock: Clock;
  readonly log: Log;
  /** How long the other replicas have to read a challenge, in milliseconds. */
  readonly settleMs?: number;
  /** How long an order can take, in milliseconds. */
  readonly deadlineMs?: number;
  readonly order?: typeof orderCertificate;
}

const operator = { kind: "operator" } as const;
/** How often a replica reads the certificate and the challenges, in milliseconds. */
const pollMs = 5_000;
/** Longer than two polls. */
const defaultSettleMs = 12_000;
const defaultDeadlineMs = 10 * 60_000;
const takenOver = "the order took too long, and another replica has taken it over";
const firstRetryMs = 5 * 60_000;

interface AnsweredChallenge {
  readonly keyAuthorization: string;
  readonly pair: TlsPair | undefined;
}

export class AcmeCertificate implements ServedCertificate {
  readonly source = "acme";
  readonly #options: AcmeCertificateOptions;
  #pair: TlsPair;
  /** The last certificate that was read, even if it cannot be used. */
  #stored: string | null = null;
  /** Whether the stored certificate cannot be used: an earlier version checked less. The previous one remains. */
  #isUnusable = false;
  #validity: { readonly from: number; readonly to: number } | undefined;
  #challenges: ReadonlyMap<string, AnsweredChallenge> = new Map();
  /** Whether the server answers certificate authorities. */
  #listens = false;
  #replaced: (pair: TlsPair) => void = () => undefined;
  /** The last reading. One at a time, so that an earlier state does not replace a later one. */
  #reading: Promise<void> = Promise.resolve();
  readonly #stopping = new AbortController();

  private constructor(options: AcmeCertificateOptions, pair: TlsPair) {
    this.#options = options;
    this.#pair = pair;
  }

  /** Reads the certificate. Without a usable one, a self-signed certificate is presented until an order succeeds. */
  static async open(options: AcmeCertificateOptions): Promise<AcmeCertificate> {
    const { database, box, host } = options;
    const known = await database.transaction(operator, (tx) => queries.readAcme(tx, options));
    if (known === undefined) {
      const sealed = box.seal(await createAccountKey(), accountContext(options));
      await database.transaction(operator, (tx) => queries.insertAcmeAccount(tx, options, sealed));
    }
    const opened = new AcmeCertificate(options, await challengeCertificate(host, "none"));
    await opened.#read();
    return opened;
  }

  get pair(): TlsPair {
    return this.#pair;
  }

  get validTo(): Date | undefined {
    return this.#validity === undefined ? undefined : new Date(this.#validity.to);
  }

  onReplaced(replaced: (pair: TlsPair) => void): void {
    this.#replaced = replaced;
  }

  challengePair(host: string): TlsPair | undefined {
    if (host !== this.#options.host) return undefined;
    return [...this.#challenges.values()].find(({ pair }) => pair !== undefined)?.pair;
  }

  /** The answer to HTTP-01. @returns undefined for an unknown token */
  keyAuthorization(token: string): string | undefined {
    return this.#challenges.get(token)?.keyAuthorization;
  }

  /** Permits orders, when the server listens and can prove its control of the host. */
  listen(): void {
    this.#listens = true;
  }

  /** Abandons the order that is under way, and starts no further one. */
  stop(): void {
    this.#stopping.abort(new Error("the server is stopping"));
  }

  get tasks(): readonly BackgroundTask[] {
    return [
      { name: acmeTasks.read, intervalMs: pollMs, run: () => this.#read() },
      { name: acmeTasks.order, intervalMs: pollMs, run: () => this.#orderIfDue() },
    ];
  }

  async #orderIfDue(): Promise<void> {
    if (!this.#listens || this.#stopping.signal.aborted || !this.#isDue()) return;
    const { database, clock } = this.#options;
    const now = clock.now();
    // The claim outlasts the deadline of an order.
    const until = new Date(now.getTime() + queries.longestOrderMs);
    const claim = { now, until, replacesUnusable: this.#isUnusable };
    const claimed = await database.transaction(operator, (tx) => queries.claimAcmeOrder(tx, this.#options, claim));
    if (claimed === undefined) return;
    // Another replica may have finished its order since the certificate was read.
    if (claimed.certificate === this.#stored) await this.#order(claimed, until);
    else await this.#release(until);
    await this.#read();
  }

  /** Whether less than a third of the validity period is left, or there is no certificate that can be used. */
  #isDue(): boolean {
    if (this.#validity === undefined || this.#isUnusable) return true;
    const { from, to } = this.#validity;
    return this.#options.clock.now().getTime() >= to - (to - from) / 3;
  }

  async #order({ account_key_ciphertext: sealedKey, failures }: queries.AcmeRow, until: Date): Promise<void> {
    const { database, box, log, clock, host } = this.#options;
    const fields = { host, directory: this.#options.directoryUrl };
    try {
      const ordered = await this.#orderInTime(box.open(sealedKey, accountContext(this.#options)), until);
      const { notBefore, notAfter } = ordered;
      const issued = { ...ordered, privateKey: box.seal(ordered.privateKey, keyContext(this.#options)) };
      // If the clock is far ahead, every new certificate seems due for renewal.
      const pauseMs = Math.min((notAfter.getTime() - notBefore.getTime()) / 3, queries.longestRetryMs);
      const nextAttemptAt = new Date(clock.now().getTime() + pauseMs);
      const isStored = await database.transaction(operator, (tx) =>
        queries.storeAcmeCertificate(tx, this.#options, until, issued, nextAttemptAt),
      );
      if (!isStored) throw new Error(takenOver);
      log.info({ ...fields, validTo: notAfter.toISOString() }, "TLS certificate issued");
    } catch (error) {
      if (this.#stopping.signal.aborted) await this.#release(until);
      else await this.#fail(error, failures, until);
    }
  }

  /** Orders until the deadline or shutdown, even if the order does not react to its signal. */
  async #orderInTime(accountKey: string, until: Date): Promise<OrderedCertificate> {
    const { deadlineMs = defaultDeadlineMs, order = orderCertificate } = this.#options;
    const late = new AbortController();
    const reason = new Error(`the authority did not issue a certificate within ${deadlineMs / 1_000} s`);
    const timer = setTimeout(() => late.abort(reason), deadlineMs);
    const signal = AbortSignal.any([late.signal, this.#stopping.signal]);
    try {
      signal.throwIfAborted();
      const present = (challenge: queries.AcmeChallenge) => this.#present(challenge, until, signal);
      const ended = new Promise<never>((_resolve, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason), { once: true });
      });
      return await Promise.race([ended, order({ ...this.#options, accountKey, present, signal })]);
    } catch (error) {
      throw signal.aborted ? signal.reason : error;
    } finally {
      clearTimeout(timer);
    }
  }

  async #fail(error: unknown, failures: number, until: Date): Promise<void> {
    const { database, log, clock, host, directoryUrl } = this.#options;
    const at = clock.now();
    const nextAttemptAt = new Date(at.getTime() + Math.min(firstRetryMs * 2 ** failures, queries.longestRetryMs));
    const reason = orderProblem(error);
    await database.transaction(operator, (tx) =>
      queries.storeAcmeFailure(tx, this.#options, until, { at, error: reason, nextAttemptAt }),
    );
    const times = { nextAttemptAt: nextAttemptAt.toISOString(), validTo: this.validTo?.toISOString() };
    const state = { host, directory: directoryUrl, reason, ...times };
    log.error(state, "failed to get a TLS certificate; keeping the current one; will retry");
  }

  #release(until: Date): Promise<void> {
    return this.#options.database.transaction(operator, (tx) => queries.releaseAcmeOrder(tx, this.#options, until));
  }

  async #present(challenge: queries.AcmeChallenge, until: Date, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const { database, settleMs = defaultSettleMs } = this.#options;
    const isPresented = await database.transaction(operator, (tx) =>
      queries.presentAcmeChallenge(tx, this.#options, until, challenge),
    );
    if (!isPresented) throw new Error(takenOver);
    await this.#read();
    // The authority asks any replica, and the others poll.
    await pause(settleMs, undefined, { signal });
  }

  /** Reads the certificate and the challenges of all replicas. */
  #read(): Promise<void> {
    const reading = this.#reading.then(() => this.#readState());
    this.#reading = reading.catch(() => undefined);
    return reading;
  }

  async #readState(): Promise<void> {
    const { database, box, clock, host } = this.#options;
    const [row, challenges] = await database.transaction(operator, (tx) =>
      Promise.all([queries.readAcme(tx, this.#options), queries.readAcmeChallenges(tx, host, clock.now())]),
    );
    await this.#replaceChallenges(challenges);
    if (row === undefined || row.certificate === null || row.private_key_ciphertext === null) return;
    if (row.certificate === this.#stored) return;
    const key = box.open(row.private_key_ciphertext, keyContext(this.#options));
    try {
      requireServable(row.certificate, key);
    } catch (error) {
      this.#stored = row.certificate;
      this.#isUnusable = true;
      const fields = { host, directory: this.#options.directoryUrl, reason: orderProblem(error) };
      this.#options.log.error(fields, "stored TLS certificate is invalid; will order another one");
      return;
    }
    const pair = { cert: Buffer.from(row.certificate), key: Buffer.from(key) };
    this.#replaced(pair);
    const isFirst = this.#stored === null;
    const { validFrom, validTo } = new X509Certificate(row.certificate);
    this.#pair = pair;
    this.#stored = row.certificate;
    this.#isUnusable = false;
    this.#validity = { from: Date.parse(validFrom), to: Date.parse(validTo) };
    if (!isFirst) this.#options.log.info({ host, validTo }, "TLS certificate replaced");
  }

  async #replaceChallenges(challenges: readonly queries.AcmeChallenge[]): Promise<void> {
    const { challengeType, host } = this.#options;
    const answered = challenges.map(async ({ token, keyAuthorization }) => {
      const known = this.#challenges.get(token);
      if (known?.keyAuthorization === keyAuthorization) return [token, known] as const;
      const pair = challengeType === "tls-alpn-01" ? await challengeCertificate(host, keyAuthorization) : undefined;
      return [token, { keyAuthorization, pair }] as const;
    });
    this.#challenges = new Map(await Promise.all(answered));
  }
}

/** @returns why a server cannot present the stored certificate; undefined if it can, or if none is stored */
export function servingFault(
  { certificate, private_key_ciphertext: sealedKey }: Pick<queries.AcmeRow, "certificate" | "private_key_ciphertext">,
  name: queries.AcmeName,
  box: SecretBox,
): string | undefined {
  if (certificate === null || sealedKey === null) return undefined;
  try {
    requireServable(certificate, box.open(sealedKey, keyContext(name)));
  } catch (error) {
    return orderProblem(error);
  }
  return undefined;
}

function accountContext({ directoryUrl, host }: queries.AcmeName): string {
  return `acme-account:${directoryUrl} ${host}`;
}

function keyContext({ directoryUrl, host }: queries.AcmeName): string {
  return `acme-certificate:${directoryUrl} ${host}`;
}
