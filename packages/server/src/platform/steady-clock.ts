import type { Clock } from "./clock.ts";
import type { Database } from "./db/database.ts";
import type { Log } from "./log.ts";
import { lockSteadyPeriod, type SteadyPeriod, storeSteadyPeriod } from "./steady-clock.queries.ts";

/** The most by which the wall clock may differ from the running time within a period, in milliseconds. */
const toleranceMs = 60 * 60_000;

export interface SteadyClockOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Pick<Log, "info" | "warn">;
}

/**
 * Notices jumps of the wall clock, for work that a wrong clock would make irreversible. The database stores since when
 * the clock has run without a jump, and how long servers ran since then. So the time before a restart counts.
 *
 * A jump and a time in which no server ran look the same. Together they may take an hour in a period.
 */
export class SteadyClock {
  readonly #options: SteadyClockOptions;
  /** The clock at the last observation, or at the start. */
  #wallMs: number;
  #elapsedMs: number;
  #ranMs = 0;
  #isReported = false;

  constructor(options: SteadyClockOptions) {
    this.#options = options;
    this.#wallMs = options.clock.now().getTime();
    this.#elapsedMs = options.clock.elapsedMs();
  }

  /**
   * How long servers have run without a jump of the clock, up to the last observation, in milliseconds. Zero if the
   * clock of this server has jumped since.
   */
  get steadyMs(): number {
    return this.#hasJumped() ? 0 : this.#ranMs;
  }

  /** Stores an observation of the clock. Call it at least every few minutes. @throws AppError database_unavailable */
  async observe(): Promise<void> {
    const { database, clock } = this.#options;
    const hasJumped = this.#hasJumped();
    const [wallMs, elapsedMs] = [clock.now().getTime(), clock.elapsedMs()];
    const ranMs = elapsedMs - this.#elapsedMs;
    const [former, period] = await database.transaction({ kind: "operator" }, async (tx) => {
      const stored = await lockSteadyPeriod(tx);
      const next = continued(stored, wallMs, ranMs) ?? begun(wallMs, hasJumped ? 0 : ranMs);
      await storeSteadyPeriod(tx, next);
      return [stored, next];
    });
    this.#wallMs = wallMs;
    this.#elapsedMs = elapsedMs;
    this.#ranMs = period.ranMs;
    this.#report(former !== undefined && former.since !== period.since, hasJumped);
  }

  #hasJumped(): boolean {
    const { clock } = this.#options;
    const wallMs = clock.now().getTime() - this.#wallMs;
    return Math.abs(wallMs - (clock.elapsedMs() - this.#elapsedMs)) > toleranceMs;
  }

  /** Clocks of replicas that differ end the period at each observation. They are reported once. */
  #report(hasEnded: boolean, hasJumped: boolean): void {
    const { log } = this.#options;
    if (hasJumped) log.warn("the clock jumped by more than an hour; audit records are not pruned for 12 hours");
    else if (hasEnded && !this.#isReported) {
      log.info("the clock jumped, or no server ran, for more than an hour; audit records are not pruned for 12 hours");
    }
    this.#isReported = hasEnded;
  }
}

/** The period with another observation; undefined if it has ended. */
function continued(period: SteadyPeriod | undefined, wallMs: number, ranMs: number): SteadyPeriod | undefined {
  if (period === undefined) return undefined;
  // Another replica may have counted a part of the time.
  const total = period.ranMs + Math.max(0, Math.min(ranMs, wallMs - period.seenAt));
  if (Math.abs(wallMs - period.since - total) > toleranceMs) return undefined;
  // With the earlier time of a replica that is behind, the next observation would count the difference again.
  return { since: period.since, ranMs: total, seenAt: Math.max(period.seenAt, wallMs) };
}

function begun(wallMs: number, ranMs: number): SteadyPeriod {
  return { since: wallMs - ranMs, ranMs, seenAt: wallMs };
}
