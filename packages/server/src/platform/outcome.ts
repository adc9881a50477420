import type { Page } from "@gatehouse/contract/list";

/** A record, or something else that is answered whole. */
export interface RecordOutcome {
  readonly kind: "record";
  readonly body: unknown;
  /** The body as JSON, where it was made before. */
  readonly text?: string;
  /** Becomes the ETag. */
  readonly version?: number;
  /** The path of what was created. */
  readonly location?: string;
}

/** Text of unknown length, made as fast as it is read and no faster. */
export interface StreamOutcome {
  readonly kind: "stream";
  readonly mediaType: string;
  /** What a browser would save it as. */
  readonly fileName?: string;
  /** A reader that takes nothing for this long is let go, in milliseconds. */
  readonly stallMs: number;
  /** @param closed aborted when nobody reads any more */
  readonly chunks: (closed: AbortSignal) => AsyncIterable<string>;
}

/** What an operation answers, before it is put into HTTP. */
export type Outcome = (
  | RecordOutcome
  | { readonly kind: "page"; readonly page: Page<unknown> }
  | { readonly kind: "array"; readonly batches: AsyncIterable<readonly unknown[]> }
  | StreamOutcome
  | { readonly kind: "empty"; readonly version?: number }
) & {
  /** The id of the first audit entry of a command that can change access. */
  readonly event?: string;
};

/** A record that was read or changed. */
export function record(body: object, version: number): RecordOutcome {
  return { kind: "record", body, version };
}

/** A record that was created. */
export function created(body: object, version: number, location: string): Outcome {
  return { kind: "record", body, version, location };
}

/** What was worked out and is not kept: it has no version. */
export function report(body: object): Outcome {
  return { kind: "record", body };
}

/** Nothing to show; `version` is the record's new one, where it lives on. */
export function empty(version?: number): Outcome {
  return version === undefined ? { kind: "empty" } : { kind: "empty", version };
}

/** A list that is short by nature, in one piece and in its own order. */
export function wholeArray(items: readonly object[]): Outcome {
  async function* batches() {
    yield items;
  }
  return { kind: "array", batches: batches() };
}

/** Items that one reading of a streamed list fetches. */
const batchSize = 500;

/**
 * A list that may be longer than memory: read and sent in batches, in order of id, each in a transaction of its own.
 *
 * @param readBatch reads at most `limit` items with an id above `afterId` ("00000000-…" at first), ordered by id
 */
export function streamed<T extends { readonly id: string }>(
  readBatch: (afterId: string, limit: number) => Promise<readonly T[]>,
): Outcome {
  async function* batches() {
    let afterId = "00000000-0000-0000-0000-000000000000";
    for (;;) {
      const items = await readBatch(afterId, batchSize);
      if (items.length > 0) yield items;
      const last = items.at(-1);
      if (last === undefined || items.length < batchSize) return;
      afterId = last.id;
    }
  }
  return { kind: "array", batches: batches() };
}
