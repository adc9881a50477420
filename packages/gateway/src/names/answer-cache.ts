const mostAnswers = 10_000;

/** Caches answers of resolvers until they expire. The cache is bounded; the oldest answers are evicted first. */
export class AnswerCache<Value> {
  readonly #answers = new Map<string, { readonly value: Value; readonly until: number }>();

  get(key: string, now: number): Value | undefined {
    const cached = this.#answers.get(key);
    return cached !== undefined && cached.until > now ? cached.value : undefined;
  }

  /** @param until when the answer expires, milliseconds since 1970 */
  set(key: string, value: Value, until: number): void {
    this.#answers.delete(key);
    this.#answers.set(key, { value, until });
    for (const oldest of this.#answers.keys()) {
      if (this.#answers.size <= mostAnswers) return;
      this.#answers.delete(oldest);
    }
  }

  clear(): void {
    this.#answers.clear();
  }
}
