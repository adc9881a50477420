/** Time comes in as an argument everywhere; this is where it comes from. */
export interface Clock {
  /** The present moment. */
  now(): Date;
  /** Milliseconds since some fixed moment; never goes back, whatever happens to the wall clock. */
  elapsedMs(): number;
}

export const systemClock: Clock = { now: () => new Date(), elapsedMs: () => performance.now() };
