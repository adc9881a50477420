/** The source of time and timers. Modules take it as an argument. */
export interface Clock {
  /** Milliseconds since 1970, UTC. */
  now(): number;
  /** Milliseconds since a fixed time. Monotonic, regardless of the wall clock; may stop while the machine sleeps. */
  elapsedMs(): number;
  /**
   * Calls a function once, after a delay.
   *
   * @returns cancels the call
   */
  after(delayMs: number, call: () => void): () => void;
}

/** The longest delay of Node's timers. */
const longestDelayMs = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  elapsedMs: () => performance.now(),
  after: (delayMs, call) => {
    const timer = setTimeout(call, Math.min(Math.max(0, delayMs), longestDelayMs));
    return () => clearTimeout(timer);
  },
};
