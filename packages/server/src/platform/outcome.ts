import type { Page } from "@gatehouse/contract/list";
import { nilId } from "./ids.ts";
import type { ArrayCut } from "./list-query.ts";
import type { PreparedAnswer } from "./prepared-answer.ts";

/** A record, or another complete response body. */
export interface RecordOutcome {
  readonly kind: "record";
  readonly body: unknown;
  /** The body as JSON, if it was serialized before. */
  readonly text?: string;
  /** The body as JSON in UTF-8, if it is large and was serialized in slices. */
  readonly bytes?: Buffer;
  /** Becomes the ETag. */
  readonly version?: number;
  /** The path of what was created. */
  readonly location?: string;
}

/** Text of unknown length, produced as fast as it is read. */
export interface StreamOutcome {
  readonly kind: "stream";
  readonly mediaType: string;
  /** The file name for downloads. */
  readonly fileName?: string;
  /** A reader that reads nothing for this long is disconnected, in milliseconds. */
  readonly stallMs: number;
  /** @param closed aborted when the reader has gone */
  readonly chunks: (closed: AbortSignal) => AsyncIterable<string>;
}

/** The result of an operation before it is converted to HTTP. */
export type Outcome = (
  | RecordOutcome
  | { readonly kind: "page"; readonly page: Page<unknown> }
  /** A record or a page that was serialized before. */
  | { readonly kind: "prepared"; readonly answer: PreparedAnswer }
  | ArrayOutcome
  | StreamOutcome
  | { readonly kind: "empty"; readonly version?: number }
) & {
  /** Id of the first audit entry of a command that can change access. */
  readonly event?: string;
};

interface ArrayOutcome {
  readonly kind: "array";
  readonly batches: AsyncIterable<readonly unknown[]>;
  /**
   * Reads a part of a long list. The part has at most `batchSize` items. For a longer part, or without this function,
   * all items are read in batches.
   */
  readonly readPart?: ReadPart;
}

type ReadPart = (
  cut: ArrayCut & { readonly limit: number },
) => Promise<{ readonly items: readonly object[]; readonly total: number }>;

/** A record that was read or changed. */
export function record(body: object, version: number): RecordOutcome {
  return { kind: "record", body, version };
}

/** A body and its JSON. */
export interface Serialized {
  readonly body: object;
  readonly bytes: Buffer;
}

/** A record or a computed result that may be large. */
export function serialized({ body, bytes }: Serialized, version?: number): RecordOutcome {
  return version === undefined ? { kind: "record", body, bytes } : { kind: "record", body, bytes, version };
}

/** A record that was created. */
export function created(body: object, version: number, location: string): Outcome {
  return { kind: "record", body, version, location };
}

/** A computed result that is not stored and has no version. */
export function report(body: object): Outcome {
  return { kind: "record", body };
}

/** A computed result that was serialized while it was computed. */
export function serializedReport(text: string): Outcome {
  return { kind: "record", body: undefined, text };
}

/** No body; `version` is the new version of a record that remains. */
export function empty(version?: number): Outcome {
  return version === undefined ? { kind: "empty" } : { kind: "empty", version };
}

/** A short list as a whole, in its own order. */
export function wholeArray(items: readonly object[]): Outcome {
  async function* batches() {
    yield items;
  }
  return { kind: "array", batches: batches() };
}

/** The number of items in each batch of a streamed list. */
export const batchSize = 500;

/**
 * A list that can exceed the memory: read and sent in batches ordered by id, each in its own transaction.
 *
 * @param readBatch reads at most `limit` items with an id above `afterId` (`nilId` at first), ordered by id
 * @param readPart reads the part of the list that a request selects, if it has at most `batchSize` items
 */
export function streamed<T extends { readonly id: string }>(
  readBatch: (afterId: string, limit: number) => Promise<readonly T[]>,
  readPart?: ReadPart,
): Outcome {
  async function* batches() {
    let afterId = nilId;
    for (;;) {
      const items = await readBatch(afterId, batchSize);
      if (items.length > 0) yield items;
      const last = items.at(-1);
      if (last === undefined || items.length < batchSize) return;
      afterId = last.id;
    }
  }
  return { kind: "array", batches: batches(), ...(readPart === undefined ? {} : { readPart }) };
}
