/** Everybody who follows the audit record live: how many there may be, and who is to look again when something changed. */
import { AppError } from "../app-error.ts";
import type { OutboxEntry } from "../outbox/outbox.queries.ts";
import type { OutboxSubscriber } from "../outbox/outbox-follower.ts";

export interface EventStreamLimits {
  /** Streams that one key holds open at most. */
  readonly perKey: number;
  readonly perTenant: number;
  /** Of all tenants together, on this replica. */
  readonly total: number;
  /** A sign of life is sent when there was nothing to tell for this long, in milliseconds. */
  readonly heartbeatMs: number;
  /** A reader that takes nothing for this long is let go, in milliseconds: it goes on where it was when it comes back. */
  readonly stallMs: number;
}

export const eventStreamLimits: EventStreamLimits = {
  perKey: 10,
  perTenant: 100,
  total: 2_000,
  heartbeatMs: 15_000,
  stallMs: 30_000,
};

const retryAfterSeconds = 10;

export class EventStreams implements OutboxSubscriber {
  readonly limits: EventStreamLimits;
  readonly #open = new Set<EventStream>();
  #closed = false;

  constructor(limits: EventStreamLimits) {
    this.limits = limits;
  }

  /** How many are open. */
  get size(): number {
    return this.#open.size;
  }

  /** @throws AppError too_many_streams, no_stream_free */
  open(tenantId: string, keyId: string): EventStream {
    const { perKey, perTenant, total } = this.limits;
    const ofTenant = [...this.#open].filter((stream) => stream.tenantId === tenantId);
    const ofKey = ofTenant.filter((stream) => stream.keyId === keyId);
    if (ofKey.length >= perKey || ofTenant.length >= perTenant) {
      const detail =
        ofKey.length >= perKey ? `The key has ${perKey} streams open.` : `The tenant has ${perTenant} streams open.`;
      throw new AppError("too_many_streams", { detail, retryAfterSeconds });
    }
    if (this.#open.size >= total) throw new AppError("no_stream_free", { retryAfterSeconds });
    const stream = new EventStream(tenantId, keyId, () => this.#open.delete(stream));
    this.#open.add(stream);
    if (this.#closed) stream.end();
    return stream;
  }

  changed({ tenantId }: OutboxEntry): void {
    for (const stream of this.#open) if (stream.tenantId === tenantId) stream.wake();
  }

  missed(): void {
    for (const stream of this.#open) stream.wake();
  }

  /** Ends all of them; whoever comes now is sent away at once, to find another replica. */
  close(): void {
    this.#closed = true;
    for (const stream of this.#open) stream.end();
  }
}

/** One of them. */
export class EventStream {
  readonly tenantId: string;
  readonly keyId: string;
  readonly #ended: () => void;
  #isEnded = false;
  #isDue = false;
  #proceed: (() => void) | undefined;

  constructor(tenantId: string, keyId: string, ended: () => void) {
    this.tenantId = tenantId;
    this.keyId = keyId;
    this.#ended = ended;
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** There may be news. */
  wake(): void {
    this.#isDue = true;
    this.#proceed?.();
  }

  end(): void {
    this.#isEnded = true;
    this.#ended();
    this.#proceed?.();
  }

  /**
   * Waits until there may be news since this was asked last, or the stream ends; for so long at most.
   *
   * @returns whether there may be news
   */
  async news(atMostMs: number): Promise<boolean> {
    if (!this.#isDue && !this.#isEnded) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, atMostMs);
        timer.unref();
        this.#proceed = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      this.#proceed = undefined;
    }
    const due = this.#isDue;
    this.#isDue = false;
    return due;
  }
}
