/**
 * Keeps Gatehouse from signing a head that contradicts one that it signed before (docs/decisions/0069). Write access to
 * the database is enough to recompute every hash in it, but not to change what this process and its data folder
 * remember.
 */
import { createHash } from "node:crypto";
import type { Clock } from "../clock.ts";
import type { Database, Transaction } from "../db/database.ts";
import type { Log } from "../log.ts";
import { lastOperatorPlace, operatorCheckpoint, operatorPlaceAt } from "./operator-record.queries.ts";
import type { ChainPosition, SignatureCheck, Signed } from "./signatures.ts";
import { acceptedHead, type HeadState, headStates, latestCheckpoints } from "./signed-heads.queries.ts";
import { type HeadLine, operatorRecord, type SignedHead, type SignedHeads } from "./signed-heads.ts";

const headsAtOnce = 500;

export interface HeadGuardOptions {
  readonly database: Database;
  readonly heads: SignedHeads;
  readonly signatures: () => SignatureCheck;
  readonly clock: Clock;
  readonly log: Log;
}

/** A record that contradicts a signed head. */
export interface Contradiction {
  /** The nil UUID for the operator's record. */
  readonly tenantId: string;
  readonly signed: ChainPosition;
  /** The difference, as a sentence. */
  readonly message: string;
}

export class HeadGuard {
  readonly #options: HeadGuardOptions;
  #contradictions: ReadonlyMap<string, Contradiction> = new Map();

  constructor(options: HeadGuardOptions) {
    this.#options = options;
  }

  /** The records that contradict a signed head, as of the last check. */
  get contradictions(): readonly Contradiction[] {
    return [...this.#contradictions.values()];
  }

  /**
   * Compares every signed head with the database, and learns the heads that other replicas signed. Logs each record
   * that contradicts its head.
   */
  async check(): Promise<void> {
    const { database, heads, log } = this.#options;
    const found = new Map<string, Contradiction>();
    const all = heads.all;
    for (let from = 0; from < all.length; from += headsAtOnce) {
      const some = all.slice(from, from + headsAtOnce);
      const contradictions = await database.transaction({ kind: "operator" }, (tx) => this.#compare(tx, some));
      for (const contradiction of contradictions) found.set(contradiction.tenantId, contradiction);
    }
    this.#contradictions = found;
    for (const { tenantId, signed, message } of found.values()) {
      const { position, hash } = signed;
      log.error(
        { tenantId, position, hash, reason: message },
        "audit record contradicts its signed head; refusing to sign it; run gatehouse audit verify",
      );
    }
    await this.#learn();
  }

  /** Whether the tenant's record contradicts its signed head now. */
  contradiction(tenantId: string): Promise<Contradiction | undefined> {
    return this.#options.database.transaction({ kind: "operator" }, (tx) => this.contradictionIn(tx, tenantId));
  }

  /** The same inside a transaction in the operator's scope. */
  async contradictionIn(transaction: Transaction, tenantId: string): Promise<Contradiction | undefined> {
    const head = this.#options.heads.get(tenantId);
    if (head === undefined) return undefined;
    const [contradiction] = await this.#compare(transaction, [{ tenantId, ...head }]);
    return contradiction;
  }

  /** Records a head that was signed and committed. */
  signed(tenantId: string, place: ChainPosition): Promise<void> {
    const { heads, clock } = this.#options;
    const { position, generation, hash } = place;
    if ((heads.get(tenantId)?.position ?? 0) >= position) return Promise.resolve();
    return heads.record([{ tenantId, position, generation, hash, signedAt: clock.now().toISOString() }]);
  }

  async #compare(transaction: Transaction, lines: readonly HeadLine[]): Promise<readonly Contradiction[]> {
    const { heads } = this.#options;
    const ofTenants = lines.filter(({ tenantId }) => tenantId !== operatorRecord);
    const states = new Map((await headStates(transaction, ofTenants)).map((state) => [state.tenantId, state]));
    const changed: HeadLine[] = [];
    const contradictions: Contradiction[] = [];
    for (const line of lines) {
      const { tenantId, ...head } = line;
      const state = states.get(tenantId);
      if (state?.isDeleted === true) {
        changed.push({ ...line, position: 0 });
        continue;
      }
      const messageOf = async (place: ChainPosition) =>
        tenantId === operatorRecord
          ? operatorContradiction(transaction, place)
          : contradictionOf(place, state, (stub) => this.#options.signatures().isGenuine("stub", tenantId, stub));
      const message = await messageOf(head);
      if (message === undefined) continue;
      const accepted = await this.#accepted(transaction, tenantId, head);
      if (accepted !== undefined && (await this.#holds(transaction, tenantId, accepted, state))) {
        changed.push({ tenantId, ...accepted });
      } else contradictions.push({ tenantId, signed: head, message });
    }
    await heads.record(changed);
    return contradictions;
  }

  /** The head that the operator accepted after the contradicted one was signed. */
  async #accepted(transaction: Transaction, tenantId: string, head: SignedHead): Promise<SignedHead | undefined> {
    const accepted = await acceptedHead(transaction, tenantId);
    if (accepted === undefined || accepted.createdAt <= head.signedAt) return undefined;
    const contentHash = reasonHash(accepted.reason);
    const { position, generation, hash, createdAt, signature } = accepted;
    const statement = { position, generation, hash, createdAt, contentHash, signature };
    if (!this.#options.signatures().isGenuine("acceptance", tenantId, statement)) return undefined;
    this.#options.log.warn({ tenantId, position, reason: accepted.reason }, "audit head accepted by the operator");
    return { position, generation, hash, signedAt: createdAt };
  }

  async #holds(
    transaction: Transaction,
    tenantId: string,
    accepted: ChainPosition,
    state: HeadState | undefined,
  ): Promise<boolean> {
    if (accepted.position === 0) return state?.tenantExists !== true;
    const { heads: _, ...options } = this.#options;
    if (tenantId === operatorRecord) return (await operatorContradiction(transaction, accepted)) === undefined;
    const [now] = await headStates(transaction, [{ tenantId, signedAt: "", ...accepted }]);
    const isGenuine = (stub: Signed) => options.signatures().isGenuine("stub", tenantId, stub);
    return contradictionOf(accepted, now, isGenuine) === undefined;
  }

  async #learn(): Promise<void> {
    const { database, heads, signatures, clock } = this.#options;
    const signedAt = clock.now().toISOString();
    const isLater = (tenantId: string, { position }: ChainPosition) =>
      !this.#contradictions.has(tenantId) && position > (heads.get(tenantId)?.position ?? 0);
    for (let afterTenantId: string | undefined = operatorRecord; afterTenantId !== undefined; ) {
      const from: string = afterTenantId;
      const { checkpoints, last } = await database.transaction({ kind: "operator" }, (tx) =>
        latestCheckpoints(tx, from, headsAtOnce),
      );
      const later = checkpoints.filter(
        (checkpoint) =>
          isLater(checkpoint.tenantId, checkpoint) &&
          signatures().isGenuine("checkpoint", checkpoint.tenantId, checkpoint),
      );
      await heads.record(
        later.map(({ tenantId, position, generation, hash }) => ({ tenantId, position, generation, hash, signedAt })),
      );
      afterTenantId = last;
    }
    const own = await database.transaction({ kind: "operator" }, operatorCheckpoint);
    if (own === undefined || !isLater(operatorRecord, own)) return;
    if (!signatures().isGenuine("checkpoint", operatorRecord, own)) return;
    const { position, generation, hash } = own;
    await heads.record([{ tenantId: operatorRecord, position, generation, hash, signedAt }]);
  }
}

/** The hash that an acceptance signs for its reason. */
export function reasonHash(reason: string): string {
  return createHash("sha256").update(reason).digest("hex");
}

/** @returns how the database contradicts a signed head; undefined: it does not */
export function contradictionOf(
  { position, generation, hash }: ChainPosition,
  state: HeadState | undefined,
  isGenuineStub: (stub: Signed) => boolean,
): string | undefined {
  if (state === undefined || !state.tenantExists) return "The tenant and its record are gone, and nobody deleted them.";
  const { sealHash, checkpointHash, stub } = state;
  if (stub !== null && stub.generation >= generation && isGenuineStub(stub)) {
    const isOther = stub.generation === generation && stub.hash !== hash;
    return isOther ? `Another record was pruned: position ${position} was signed with another hash.` : undefined;
  }
  if (sealHash === null) return `Position ${position} was signed, and its seal is gone.`;
  if (sealHash !== hash) return `Position ${position} was signed with another hash.`;
  if (checkpointHash === null) return `Position ${position} was signed, and its checkpoint is gone.`;
  return checkpointHash === hash ? undefined : `The checkpoint at position ${position} was replaced.`;
}

async function operatorContradiction(
  transaction: Transaction,
  { position, hash }: ChainPosition,
): Promise<string | undefined> {
  const [place, checkpoint, last] = await Promise.all([
    operatorPlaceAt(transaction, position),
    operatorCheckpoint(transaction),
    lastOperatorPlace(transaction),
  ]);
  if (place === undefined || last === undefined || last.position < position) {
    return `Position ${position} of the operator's record was signed, and is gone.`;
  }
  if (place.hash !== hash) return `Position ${position} of the operator's record was signed with another hash.`;
  if ((checkpoint?.position ?? 0) < position) return `The checkpoint at position ${position} is gone.`;
  return undefined;
}
