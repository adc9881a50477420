import { Readable } from "node:stream";

/**
 * A stream of chunks that is destroyed if its reader requests no further chunk for too long.
 *
 * @param stallMs milliseconds
 */
export function readableOf(chunks: AsyncIterable<Buffer | string>, stallMs: number): Readable {
  async function* timed() {
    for await (const chunk of chunks) {
      // The reader requests more after it has consumed the previous chunk.
      const stalled = setTimeout(() => stream.destroy(), stallMs);
      try {
        yield chunk;
      } finally {
        clearTimeout(stalled);
      }
    }
  }
  const stream = Readable.from(timed(), { objectMode: false });
  return stream;
}
