/** Numbers of bytes. */
export interface BodyLimits {
  /** Smaller bodies are not counted and never wait: the number of requests limits them. */
  readonly small: number;
  readonly tenant: number;
  readonly total: number;
}

/** The maximum size of a body. Larger ones are not sent. */
export const maxBodyBytes = 32 * 1024 * 1024;

const defaultLimits: BodyLimits = { small: 64 * 1024, tenant: maxBodyBytes, total: 4 * maxBodyBytes };

export interface Body {
  readonly tenantId: string;
  readonly bytes: number;
}

interface Waiting {
  readonly body: Body;
  readonly end: (entered: boolean) => void;
}

/** Limits the memory of the bodies that are being sent. Other bodies wait for space, in the order of their arrival. */
export class BodySpace {
  readonly #limits: BodyLimits;
  /** The bytes of each tenant with bodies. */
  readonly #used = new Map<string, number>();
  readonly #waiting = new Set<Waiting>();
  #total = 0;

  constructor(limits: BodyLimits = defaultLimits) {
    this.#limits = limits;
  }

  /**
   * Waits until there is space for a body. The caller has to call `leave` if it has entered.
   *
   * @returns whether it has entered; false after the time in milliseconds, and if the signal is aborted
   */
  enter(body: Body, waitMs: number, signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return Promise.resolve(false);
    return new Promise((resolve) => {
      const end = (entered: boolean) => {
        clearTimeout(timer);
        signal.removeEventListener("abort", giveUp);
        this.#waiting.delete(waiting);
        resolve(entered);
      };
      const waiting: Waiting = { body, end };
      const giveUp = () => {
        end(false);
        this.#admit();
      };
      const timer = setTimeout(giveUp, waitMs);
      signal.addEventListener("abort", giveUp);
      this.#waiting.add(waiting);
      this.#admit();
    });
  }

  leave({ tenantId, bytes }: Body): void {
    if (bytes <= this.#limits.small) return;
    const used = this.#usedBy(tenantId) - bytes;
    if (used === 0) this.#used.delete(tenantId);
    else this.#used.set(tenantId, used);
    this.#total -= bytes;
    this.#admit();
  }

  /** A body that waits for its own tenant does not delay other tenants. One that waits for the total keeps its turn. */
  #admit(): void {
    const { small, tenant, total } = this.#limits;
    const waitingTenants = new Set<string>();
    let isFull = false;
    for (const { body, end } of this.#waiting) {
      const { tenantId, bytes } = body;
      if (bytes > small) {
        if (isFull || waitingTenants.has(tenantId)) continue;
        if (this.#usedBy(tenantId) + bytes > tenant) {
          waitingTenants.add(tenantId);
          continue;
        }
        isFull = this.#total + bytes > total;
        if (isFull) continue;
        this.#used.set(tenantId, this.#usedBy(tenantId) + bytes);
        this.#total += bytes;
      }
      end(true);
    }
  }

  #usedBy(tenantId: string): number {
    return this.#used.get(tenantId) ?? 0;
  }
}
