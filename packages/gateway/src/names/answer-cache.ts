export interface AnswerCacheLimits {
  readonly mostAnswers: number;
  readonly mostBytes: number;
}

const defaultLimits: AnswerCacheLimits = { mostAnswers: 10_000, mostBytes: 16 * 1024 * 1024 };

interface CachedAnswer<Value> {
  readonly value: Value;
  readonly until: number;
  readonly bytes: number;
}

/**
 * Caches answers of resolvers until they expire. The cache is bounded; the oldest answers are evicted first. Times are
 * by a monotonic clock.
 */
export class AnswerCache<Value> {
  readonly #limits: AnswerCacheLimits;
  readonly #answers = new Map<string, CachedAnswer<Value>>();
  #bytes = 0;

  constructor(limits: AnswerCacheLimits = defaultLimits) {
    this.#limits = limits;
  }

  get(key: string, now: number): Value | undefined {
    const cached = this.#answers.get(key);
    return cached !== undefined && cached.until > now ? cached.value : undefined;
  }

  /**
   * @param until when the answer expires
   * @param bytes the memory that the answer uses, about
   */
  set(key: string, value: Value, until: number, bytes: number): void {
    this.#delete(key);
    this.#answers.set(key, { value, until, bytes });
    this.#bytes += bytes;
    for (const oldest of this.#answers.keys()) {
      if (this.#answers.size <= this.#limits.mostAnswers && this.#bytes <= this.#limits.mostBytes) return;
      this.#delete(oldest);
    }
  }

  clear(): void {
    this.#answers.clear();
    this.#bytes = 0;
  }

  #delete(key: string): void {
    this.#bytes -= this.#answers.get(key)?.bytes ?? 0;
    this.#answers.delete(key);
  }
}
