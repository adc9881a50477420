/**
 * A cache of answers, so that records are not assembled again while nothing in their tenant changes. An answer is used
 * only if the tenant's state, read inside the fence for this request, is still the state of the answer. A reader
 * therefore never sees less than what any replica had committed before the request.
 */
import type { PreparedAnswer } from "./prepared-answer.ts";
import type { TenantState } from "./tenancy/generation.queries.ts";

export interface LoadedAnswer {
  /** The tenant's state in the snapshot of the answer; undefined if the tenant was deleted. */
  readonly state: TenantState | undefined;
  readonly answer: PreparedAnswer;
  /** The time at which the answer changes although nothing is written, in milliseconds; Infinity if never. */
  readonly until: number;
  /** Whether the parts of the answer are cached elsewhere. The answer is cached only if the question is repeated. */
  readonly isCheap?: boolean;
}

export interface Question {
  /** Identifies the tenant, the operation, its parameters, and what the caller may see. */
  readonly key: string;
  /** The time of the request. */
  readonly now: Date;
  /** Reads the tenant's state, at least as new as this call. */
  readonly current: () => Promise<TenantState | undefined>;
  readonly load: () => Promise<LoadedAnswer>;
}

interface Entry extends LoadedAnswer {
  readonly state: TenantState;
  /** The time at which the answer was assembled, in milliseconds. */
  readonly from: number;
  size: number;
}

/** The number of questions whose repetition is noticed, a power of two. */
const rememberedQuestions = 4_096;
/** The part of the capacity that a single answer can use. */
const largestPart = 1 / 8;
/** Longer questions are not cached. */
const maxKeyLength = 2_000;
/** The memory of an entry besides its key and its answer, in bytes, as measured in V8's heap. */
const entryBytes = 1_000;

export class AnswerCache {
  /** Ordered by last use, the least recent first. */
  readonly #entries = new Map<string, Entry>();
  /** Answers that are being assembled. */
  readonly #loading = new Map<string, Promise<LoadedAnswer>>();
  readonly #capacity: number;
  /** Hashes of cheap questions that were asked, each at a place of its own. */
  readonly #asked = new Int32Array(rememberedQuestions);
  #size = 0;
  /** Raised by `clear`. */
  #epoch = 0;
  #hits = 0;
  #misses = 0;

  /** @param capacity the most memory of all answers together, in bytes; 0 caches nothing */
  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get state(): { readonly hits: number; readonly misses: number; readonly entries: number; readonly bytes: number } {
    return { hits: this.#hits, misses: this.#misses, entries: this.#entries.size, bytes: this.#size };
  }

  /** @throws what `current` and `load` throw */
  answer(question: Question): Promise<PreparedAnswer> {
    const { key, now, current } = question;
    if (this.#capacity === 0 || key.length > maxKeyLength) return question.load().then(({ answer }) => answer);
    if (!this.#entries.has(key) && !this.#loading.has(key)) return this.#missed(question);
    // Most requests end in this callback: a cached answer takes no further promise.
    return current().then((state) => {
      const found = state === undefined ? undefined : this.#find(key, state, now.getTime());
      if (found === undefined) return this.#awaitOther(question, state);
      this.#hits += 1;
      return found;
    });
  }

  /** Clears the cache after generations may have restarted, when a database was restored from a backup. */
  clear(): void {
    this.#entries.clear();
    this.#loading.clear();
    this.#size = 0;
    this.#epoch += 1;
  }

  /** @param state the tenant's state, read for this request */
  #find(key: string, state: TenantState, now: number): PreparedAnswer | undefined {
    const known = this.#entries.get(key);
    if (known === undefined || !isSame(known.state, state) || now < known.from || now >= known.until) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, known);
    return known.answer;
  }

  /** Waits for an equal request that is in progress, or loads the answer. */
  async #awaitOther(question: Question, state: TenantState | undefined): Promise<PreparedAnswer> {
    const found = state === undefined ? undefined : await this.#joinLoading(question, state);
    if (found === undefined) return this.#missed(question);
    this.#hits += 1;
    return found;
  }

  async #joinLoading({ key, now }: Question, state: TenantState): Promise<PreparedAnswer | undefined> {
    // An answer that began before this request may miss later commits. Any that begins after `state` was read does not.
    const epoch = this.#epoch;
    for (;;) {
      const loading = this.#loading.get(key);
      if (loading === undefined) return undefined;
      const loaded = await loading.catch(() => undefined);
      if (loaded?.state === undefined || this.#epoch !== epoch) return undefined;
      if (isAtLeast(loaded.state, state) && now.getTime() < loaded.until) return loaded.answer;
      if (this.#loading.get(key) === loading) return undefined;
    }
  }

  #missed(question: Question): Promise<PreparedAnswer> {
    this.#misses += 1;
    return this.#load(question);
  }

  async #load({ key, now, load }: Question): Promise<PreparedAnswer> {
    const loading = load();
    this.#loading.set(key, loading);
    try {
      const { state, answer, until, isCheap = false } = await loading;
      // `clear` ends what is being assembled too.
      if (state !== undefined && this.#loading.get(key) === loading && (!isCheap || this.#isRepeated(key))) {
        this.#remember(key, { state, answer, until, from: now.getTime(), size: sizeOf(key, answer) });
      }
      return answer;
    } finally {
      if (this.#loading.get(key) === loading) this.#loading.delete(key);
    }
  }

  /** Whether the question was asked recently. */
  #isRepeated(key: string): boolean {
    let hash = 1;
    for (let index = 0; index < key.length; index += 1) hash = (Math.imul(hash, 31) + key.charCodeAt(index)) | 0;
    const place = (hash ^ (hash >>> 15)) & (rememberedQuestions - 1);
    const isRepeated = this.#asked[place] === hash;
    this.#asked[place] = hash;
    return isRepeated;
  }

  #remember(key: string, entry: Entry): void {
    this.#forget(key);
    if (entry.size > this.#capacity * largestPart) return;
    this.#entries.set(key, entry);
    entry.answer.grown = () => this.#measure(key, entry);
    this.#size += entry.size;
    this.#evict();
  }

  /** Accounts for memory that an answer has grown by. */
  #measure(key: string, entry: Entry): void {
    if (this.#entries.get(key) !== entry) return;
    const size = sizeOf(key, entry.answer);
    this.#size += size - entry.size;
    entry.size = size;
    this.#evict();
  }

  #evict(): void {
    for (const oldest of this.#entries.keys()) {
      if (this.#size <= this.#capacity) break;
      this.#forget(oldest);
    }
  }

  #forget(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#size -= entry.size;
    this.#entries.delete(key);
  }
}

function sizeOf(key: string, answer: PreparedAnswer): number {
  return key.length + answer.size + entryBytes;
}

function isSame(one: TenantState, other: TenantState): boolean {
  return one.generation === other.generation && one.observations === other.observations;
}

function isAtLeast(one: TenantState, other: TenantState): boolean {
  return one.generation >= other.generation && one.observations >= other.observations;
}
