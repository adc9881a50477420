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

/** A usual handshake needs less, also on a slow machine. */
const usualMs = 10;
/** The length of a pause, as a multiple of the step before it: such handshakes use at most 2 % of the event loop. */
const pauseFactor = 50;
const maxPauseMs = 60_000;

/** Pauses the handshakes of a tenant after a step that blocked the event loop. */
export class HandshakePace implements Pace {
  readonly #pauses = new Map<string, Promise<void>>();

  pauseOf(tenantId: string): Promise<void> | undefined {
    return this.#pauses.get(tenantId);
  }

  count(tenantId: string, usedMs: number): void {
    if (usedMs <= usualMs) return;
    const pause = new Promise<void>((resolve) => {
      const over = () => {
        this.#pauses.delete(tenantId);
        resolve();
      };
      setTimeout(over, Math.min(usedMs * pauseFactor, maxPauseMs)).unref();
    });
    this.#pauses.set(tenantId, pause);
  }
}
