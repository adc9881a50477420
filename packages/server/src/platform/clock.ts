/** The source of time. All other code takes the time as an argument. */
export interface Clock {
  /** The current time. */
  now(): Date;
  /** Milliseconds since a fixed time. Monotonic, regardless of the wall clock. */
  elapsedMs(): number;
}

export const systemClock: Clock = { now: () => new Date(), elapsedMs: () => performance.now() };
