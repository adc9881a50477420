/**
 * The pace of TLS handshakes. OpenSSL verifies certificates on the event loop, and a chain with large keys takes a
 * hundred times as long as a usual one.
 */
export interface Pace {
  /** The pause of the tenant, if it has one now. Afterwards, there can be another one. */
  pauseOf(tenantId: string): Promise<void> | undefined;
  /** Counts the processor time of a step of a handshake. */
  count(tenantId: string, usedMs: number): void;
}

/** A step of a usual handshake needs less, even on a slow machine. */
const usualMs = 10;
/** The length of a pause, as a multiple of the long step before it: such steps use at most 2% of the event loop. */
const pauseFactor = 50;
/** The part of the time that usual steps of a tenant can use without a pause. */
const usualShare = 0.1;
/** The processor time that a tenant can use beyond its share in a burst, in milliseconds. */
const burstMs = 500;
const maxPauseMs = 60_000;
const forgettingIntervalMs = 1_000;

interface Used {
  /** Processor time that the share has not covered yet, in milliseconds. */
  readonly debtMs: number;
  /** The time for which the debt was computed. */
  readonly atMs: number;
}

/**
 * Pauses the handshakes of a tenant after a step that blocked the event loop, and if its steps together use more than
 * their share of the event loop.
 */
export class HandshakePace implements Pace {
  readonly #pauses = new Map<string, Promise<void>>();
  /** The debts of tenants. Those that the share has covered are forgotten every second. */
  readonly #used = new Map<string, Used>();
  #forgottenAtMs = Number.NEGATIVE_INFINITY;

  /** The number of tenants with a known debt. */
  get size(): number {
    return this.#used.size;
  }

  pauseOf(tenantId: string): Promise<void> | undefined {
    return this.#pauses.get(tenantId);
  }

  count(tenantId: string, usedMs: number): void {
    const pauseMs = Math.max(this.#excessOf(tenantId, usedMs), usedMs > usualMs ? usedMs * pauseFactor : 0);
    if (pauseMs === 0) return;
    const pause = new Promise<void>((resolve) => {
      const over = () => {
        this.#pauses.delete(tenantId);
        resolve();
      };
      setTimeout(over, Math.min(pauseMs, maxPauseMs)).unref();
    });
    this.#pauses.set(tenantId, pause);
  }

  /**
   * Adds a step to the tenant's debt.
   *
   * @returns the time until the share covers the debt that exceeds a burst, in milliseconds
   */
  #excessOf(tenantId: string, usedMs: number): number {
    const atMs = performance.now();
    this.#forgetCovered(atMs);
    const before = this.#used.get(tenantId);
    const debtMs = usedMs + (before === undefined ? 0 : debtAt(before, atMs));
    this.#used.set(tenantId, { debtMs, atMs });
    return Math.max(0, debtMs - burstMs) / usualShare;
  }

  #forgetCovered(atMs: number): void {
    if (atMs - this.#forgottenAtMs < forgettingIntervalMs) return;
    this.#forgottenAtMs = atMs;
    for (const [tenantId, used] of this.#used) if (debtAt(used, atMs) === 0) this.#used.delete(tenantId);
  }
}

/** The debt at a later time, in milliseconds. */
function debtAt({ debtMs, atMs }: Used, laterMs: number): number {
  return Math.max(0, debtMs - (laterMs - atMs) * usualShare);
}
