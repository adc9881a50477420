/**
 * Verifies an audit record, line by line, in bounded memory. Pure. The same rules apply to lines from a database and
 * from an export.
 */
import type { Event } from "@gatehouse/contract/records/event";
import { chainStart, entryHash, lastPositionOf, type Seal, sealHash } from "./chain.ts";
import { BaselineFinder, type HistoryBaseline } from "./history-baseline.ts";
import type { RecordLine } from "./record-lines.ts";
import type { ChainPosition, SignatureCheck, Signed, StatementKind } from "./signatures.ts";

/**
 * `changed`: an entry differs from the sealed one. `missing`: an entry or a seal is missing. `unsealed`: no seal covers
 * an entry. `reordered`: an entry is at another position. `chain`: a seal does not follow from the previous one.
 * `checkpoint`, `stub`: a signature is invalid, or contradicts the chain. `head`: the record does not end at the
 * expected place, or lacks an expected one. `empty`: the record has no entries. `unsigned`: nothing signs an old entry.
 * `history`: an access effect or fact is not the one that the chain covers. `live`: a record is not as its latest entry
 * left it. `form`: a line cannot be read. `unverified`: the verification failed.
 */
export type ProblemKind =
  | "changed"
  | "missing"
  | "unsealed"
  | "reordered"
  | "chain"
  | "checkpoint"
  | "stub"
  | "head"
  | "empty"
  | "unsigned"
  | "history"
  | "live"
  | "form"
  | "unverified";

export interface Finding {
  readonly problem: ProblemKind;
  /** The position of the affected entry, or of the first of several. */
  readonly position?: number;
  readonly id?: string;
  readonly createdAt?: string;
  readonly message: string;
}

/** The expected end of the record, from the row that commands update. */
export interface ExpectedHead {
  readonly generation: number;
  readonly eventCount: number;
  readonly prunedCount: number;
  readonly chainHash: string;
}

export interface Report {
  /** The first problems; empty if there are none. */
  readonly findings: readonly Finding[];
  /** The number of all problems, including those that are not listed. */
  readonly problems: number;
  readonly events: number;
  /** The number of entries that a filtered export omits although it contains their seals. */
  readonly leftOut: number;
  readonly prunedThrough: number;
  /** The end of the chain. */
  readonly head: ChainPosition;
  /** The position of the last entry that a valid signature covers. Later entries rely on the database alone. */
  readonly signedThrough: number;
}

/** The most findings that a report lists. */
const listed = 100;
/** The most entries that wait for their seal: more than any command makes. */
const waitingAtMost = 100_000;

interface Waiting {
  readonly event: Pick<Event, "position" | "generation" | "id" | "createdAt">;
  /** Undefined if the entry has no canonical form. */
  readonly hash: string | undefined;
}

export interface RecordVerifierOptions {
  readonly tenantId: string;
  /** Undefined skips the verification of signatures. */
  readonly signatures: SignatureCheck | undefined;
  /** False if filters may have omitted entries. */
  readonly complete: boolean;
  /** The place after which the lines begin; undefined for the start of the chain. */
  readonly after?: ChainPosition | undefined;
  /** The hash of a seal that must be in the chain, from an earlier verification. */
  readonly expectHead?: string | undefined;
  /** Places that must be in the chain, unless they were pruned. */
  readonly expectHeads?: readonly Pick<ChainPosition, "position" | "hash">[] | undefined;
  /** A valid signature must cover this position. */
  readonly expectSigned?: number | undefined;
  /** Seals from before this time must be signed, in ISO 8601. */
  readonly unsignedBefore?: string | undefined;
}

export class RecordVerifier {
  readonly #options: RecordVerifierOptions;
  readonly #findings: Finding[] = [];
  #problems = 0;
  #head: ChainPosition;
  #begun = false;
  #prunedThrough = 0;
  #events = 0;
  #leftOut = 0;
  #signedThrough = 0;
  /** The first seal after the last valid signature. */
  #unsigned: Seal | undefined;
  readonly #baselines = new BaselineFinder();
  #lastEvent = Number.NEGATIVE_INFINITY;
  #expectedSeen: boolean;
  /** The expected places that the lines so far do not contain, by hash. */
  readonly #expected: Map<string, number>;
  /** Entries whose seal has not arrived yet, by position. */
  readonly #waiting = new Map<number, Waiting>();

  constructor(options: RecordVerifierOptions) {
    this.#options = options;
    this.#head = options.after ?? { position: 0, generation: 0, hash: chainStart };
    this.#expected = new Map(options.expectHeads?.map(({ hash, position }) => [hash, position]));
    this.#expectedSeen = options.expectHead === undefined || options.expectHead === this.#head.hash;
  }

  /** The end of the chain after the lines so far. */
  get head(): ChainPosition {
    return this.#head;
  }

  get events(): number {
    return this.#events;
  }

  /** The entry that covers effects and facts without their own seal. */
  get baseline(): HistoryBaseline | undefined {
    return this.#baselines.baseline;
  }

  take(line: RecordLine): void {
    switch (line.type) {
      case "stub":
        this.#stub(line);
        break;
      case "event":
        this.#event(line.event);
        break;
      case "seal":
        this.#seal(line);
        break;
      case "checkpoint":
        this.#checkpoint(line);
        break;
    }
    this.#begun = true;
  }

  report(finding: Finding): void {
    this.#problems += 1;
    if (this.#findings.length < listed) this.#findings.push(finding);
  }

  /** @param signed a signed place that must be the end of the chain, like the last line of an export */
  end(signed: Signed): void {
    const { position, hash } = signed;
    if (position !== this.#head.position || hash !== this.#head.hash) {
      const message = `The end signs position ${position}, and the seals above end at ${this.#head.position} with another hash.`;
      this.report({ problem: "head", position, message });
      return;
    }
    this.#sign(position);
  }

  /** @param expected the end according to a live database; undefined for an export */
  finish(expected?: ExpectedHead): Report {
    this.#unsealed(() => true);
    if (expected !== undefined) this.#compareHead(expected);
    if (this.#options.complete && this.#head.position === 0) {
      this.report({ problem: "empty", message: "The record is empty. Every tenant has entries from its creation." });
    }
    this.#compareSignatures();
    if (!this.#expectedSeen) {
      const message = `No seal has the expected hash ${this.#options.expectHead}: the record was rewritten since, or is another one.`;
      this.report({ problem: "head", message });
    }
    for (const position of this.#expected.values()) {
      if (position <= this.#prunedThrough) continue;
      const message = `Position ${position} had another hash: the record was rewritten since, or is an older one.`;
      this.report({ problem: "head", position, message });
    }
    return {
      findings: this.#findings,
      problems: this.#problems,
      events: this.#events,
      leftOut: this.#leftOut,
      prunedThrough: this.#prunedThrough,
      head: this.#head,
      signedThrough: this.#signedThrough,
    };
  }

  #stub(stub: Signed): void {
    const { position, generation, hash, createdAt } = stub;
    if (!this.#isGenuine("stub", stub)) {
      const message = `The stub says that everything through position ${position} was pruned, and its signature is not genuine.`;
      this.report({ problem: "stub", position, createdAt, message });
    }
    if (this.#begun) {
      this.report({
        problem: "stub",
        position,
        createdAt,
        message: "The stub is in the middle of the record. A stub is valid only at its start.",
      });
      return;
    }
    this.#prunedThrough = position;
    this.#baselines.prunedThrough = position;
    this.#sign(position);
    this.#moveTo({ position, generation, hash });
  }

  #event(event: Event): void {
    const { position, generation, id, createdAt } = event;
    this.#events += 1;
    this.#baselines.take(event);
    const where = { position, id, createdAt };
    if (position <= this.#lastEvent) {
      const message = `The entry follows the one at position ${this.#lastEvent}.`;
      this.report({ problem: "reordered", ...where, message });
    }
    this.#lastEvent = Math.max(this.#lastEvent, position);
    if (position <= this.#head.position || this.#waiting.has(position)) {
      const reason = position <= this.#prunedThrough ? "was pruned" : "is taken";
      this.report({ problem: "unsealed", ...where, message: `The entry's position ${reason}.` });
      return;
    }
    this.#waiting.set(position, { event: { position, generation, id, createdAt }, hash: hashOf(event) });
    if (this.#waiting.size > waitingAtMost) this.#unsealed(() => true);
  }

  #seal(seal: Seal): void {
    const { generation, firstPosition, entryHashes, createdAt, hash } = seal;
    const { position: before, hash: previous, generation: lastGeneration } = this.#head;
    const where = { position: firstPosition, createdAt };
    if (firstPosition > before + 1) {
      const message = `Nothing seals positions ${before + 1} to ${firstPosition - 1}: seals are missing.`;
      this.report({ problem: "missing", position: before + 1, message });
    } else if (firstPosition <= before || entryHashes.length === 0) {
      const message = `The seal of generation ${generation} begins at position ${firstPosition}, which is sealed already.`;
      this.report({ problem: "chain", ...where, message });
    } else if (sealHash(previous, this.#options.tenantId, seal) !== hash) {
      const message = `The seal of generation ${generation}, over ${rangeOf(seal)}, was changed or does not follow from the one before.`;
      this.report({ problem: "chain", ...where, message });
    }
    if (generation <= lastGeneration) {
      const message = `The seal of generation ${generation} comes after that of generation ${lastGeneration}.`;
      this.report({ problem: "chain", ...where, message });
    }
    this.#unsealed((position) => position < firstPosition);
    for (const [index, expected] of entryHashes.entries()) this.#compareEntry(seal, firstPosition + index, expected);
    this.#unsigned ??= seal;
    this.#moveTo({ position: lastPositionOf(seal), generation, hash });
  }

  #compareEntry(seal: Seal, position: number, expected: string): void {
    const found = this.#waiting.get(position);
    this.#waiting.delete(position);
    if (found === undefined) {
      if (!this.#options.complete) this.#leftOut += 1;
      else {
        const message = `The entry at position ${position} is missing; its seal is of ${seal.createdAt}.`;
        this.report({ problem: "missing", position, createdAt: seal.createdAt, message });
      }
      return;
    }
    const { event, hash } = found;
    const where = { position, id: event.id, createdAt: event.createdAt };
    if (hash !== expected) {
      const real = hash === undefined ? -1 : seal.entryHashes.indexOf(hash);
      if (real >= 0) {
        const message = `The entry was sealed at position ${seal.firstPosition + real}.`;
        this.report({ problem: "reordered", ...where, message });
      } else {
        this.report({ problem: "changed", ...where, message: "The entry is not the one that was sealed." });
      }
    } else if (event.generation !== seal.generation) {
      const message = `The entry says generation ${event.generation}, and was sealed in ${seal.generation}.`;
      this.report({ problem: "changed", ...where, message });
    }
  }

  #checkpoint(checkpoint: Signed): void {
    const { position, hash, createdAt } = checkpoint;
    const where = { position, createdAt };
    if (!this.#isGenuine("checkpoint", checkpoint)) {
      const message = `The checkpoint of ${createdAt} at position ${position} has a signature that is not genuine.`;
      this.report({ problem: "checkpoint", ...where, message });
    } else if (position > this.#head.position) {
      const message = `The checkpoint of ${createdAt} signs position ${position}, and the record ends at ${this.#head.position}: newer entries were removed.`;
      this.report({ problem: "missing", position: this.#head.position + 1, createdAt, message });
    } else if (position !== this.#head.position || hash !== this.#head.hash) {
      const message = `The checkpoint of ${createdAt} signs another hash at position ${position}: the record was rewritten after it was signed.`;
      this.report({ problem: "checkpoint", ...where, message });
    } else if (this.#options.signatures !== undefined) this.#sign(position);
  }

  #sign(position: number): void {
    this.#signedThrough = position;
    this.#unsigned = undefined;
  }

  #compareSignatures(): void {
    const { signatures, expectSigned = 0, unsignedBefore = "" } = this.#options;
    if (signatures === undefined) return;
    if (this.#signedThrough < expectSigned) {
      const message = `Position ${expectSigned} was signed, and signatures reach only position ${this.#signedThrough}: checkpoints are missing.`;
      this.report({ problem: "unsigned", position: this.#signedThrough + 1, message });
    } else if (this.#unsigned !== undefined && this.#unsigned.createdAt < unsignedBefore) {
      const { firstPosition: position, createdAt } = this.#unsigned;
      const message =
        "Nothing signs this entry and those after it: checkpoints are missing, or Gatehouse does not run.";
      this.report({ problem: "unsigned", position, createdAt, message });
    }
  }

  #compareHead({ eventCount, prunedCount, chainHash, generation: counted }: ExpectedHead): void {
    const { position, generation, hash } = this.#head;
    if (eventCount > position) {
      const message = `The tenant has had ${eventCount} entries, and the record ends at position ${position}: the newest are missing.`;
      this.report({ problem: "missing", position: position + 1, message });
    } else if (eventCount < position) {
      const message = `The tenant has had ${eventCount} entries, and the record ends at position ${position}.`;
      this.report({ problem: "head", position: eventCount + 1, message });
    } else if (chainHash !== hash) {
      const message = "The last seal's hash is not the one that the tenant's next command would follow.";
      this.report({ problem: "head", position, message });
    } else if (counted !== generation) {
      const message = `The tenant is at generation ${counted}, and its last seal has generation ${generation}.`;
      this.report({ problem: "head", position, message });
    }
    if (prunedCount !== this.#prunedThrough) {
      const message = `The tenant counts ${prunedCount} pruned entries, and the stub replaces ${this.#prunedThrough}.`;
      this.report({ problem: "stub", position: Math.min(prunedCount, this.#prunedThrough) + 1, message });
    }
  }

  #moveTo(place: ChainPosition): void {
    this.#head = place;
    if (place.hash === this.#options.expectHead) this.#expectedSeen = true;
    this.#expected.delete(place.hash);
  }

  #unsealed(concerns: (position: number) => boolean): void {
    for (const [position, { event }] of this.#waiting) {
      // Entries arrive in the order of their positions. Any other order is found at the end.
      if (!concerns(position)) return;
      this.#waiting.delete(position);
      const { id, createdAt } = event;
      const message = "No seal covers the entry: it was inserted, or its seal was removed.";
      this.report({ problem: "unsealed", position, id, createdAt, message });
    }
  }

  #isGenuine(kind: StatementKind, statement: Signed): boolean {
    const { signatures, tenantId } = this.#options;
    return signatures === undefined || signatures.isGenuine(kind, tenantId, statement);
  }
}

function hashOf(event: Event): string | undefined {
  try {
    return entryHash(event).toString("hex");
  } catch {
    return undefined; // an entry without a canonical form was never sealed
  }
}

function rangeOf(seal: Seal): string {
  const last = lastPositionOf(seal);
  return last === seal.firstPosition ? `position ${last}` : `positions ${seal.firstPosition} to ${last}`;
}
