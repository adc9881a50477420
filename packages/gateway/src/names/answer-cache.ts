const mostAnswers = 10_000;

/** What resolvers said, until it is over. Bounded: the oldest go first. */
export class AnswerCache<Value> {
  readonly #answers = new Map<string, { readonly value: Value; readonly until: number }>();

  get(key: string, now: number): Value | undefined {
    const kept = this.#answers.get(key);
    return kept !== undefined && kept.until > now ? kept.value : undefined;
  }

  /** @param until when it is over, milliseconds since 1970 */
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
