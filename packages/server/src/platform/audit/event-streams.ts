/** The live streams of the audit record: their limits, and which ones to wake after a change. */
import { AppError } from "../app-error.ts";
import type { OutboxEntry } from "../outbox/outbox.queries.ts";
import type { OutboxSubscriber } from "../outbox/outbox-follower.ts";

export interface EventStreamLimits {
  /** The most open streams of one key. */
  readonly perKey: number;
  readonly perTenant: number;
  /** The most open streams of all tenants together, on this replica. */
  readonly total: number;
  /** A heartbeat is sent if there were no entries for this long, in milliseconds. */
  readonly heartbeatMs: number;
  /**
   * A reader that takes no data for this long is disconnected, in milliseconds. After reconnecting it resumes where it
   * stopped.
   */
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

  /** The number of open streams. */
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

  /** Ends all streams. From now on, new ones are rejected at once, so that clients connect to another replica. */
  close(): void {
    this.#closed = true;
    for (const stream of this.#open) stream.end();
  }
}

/** One open stream. */
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

  /** Signals that there may be new entries. */
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
   * Waits until there may be new entries since the previous call, until the stream ends, or for `atMostMs`.
   *
   * @returns whether there may be new entries
   */
  async waitForEntries(atMostMs: number): Promise<boolean> {
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
