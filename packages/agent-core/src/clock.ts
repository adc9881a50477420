/** Time and timers come in as an argument everywhere; this is where they come from. */
export interface Clock {
  /** Milliseconds since 1970, UTC. */
  now(): number;
  /**
   * Calls once, when so much time has passed.
   *
   * @returns what takes the call back
   */
  after(delayMs: number, call: () => void): () => void;
}

/** What Node's timers can wait for at most, in milliseconds. */
const longestDelayMs = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  after: (delayMs, call) => {
    const timer = setTimeout(call, Math.min(Math.max(0, delayMs), longestDelayMs));
    return () => clearTimeout(timer);
  },
};
