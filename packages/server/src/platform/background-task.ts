/** Work that a replica repeats in the background. Runs do not overlap, and each must be safe to repeat. */
export interface BackgroundTask {
  readonly name: string;
  /** The time between two runs, in milliseconds. */
  readonly intervalMs: number;
  readonly run: () => Promise<void>;
  /** Ends work that a run has started, and waits for it until a deadline. */
  readonly stop?: () => Promise<void>;
}
