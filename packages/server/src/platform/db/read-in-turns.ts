import type { Readable } from "node:stream";

/** The bytes that are read from one connection in a turn of the event loop: about 1 ms of parsing. */
const mostInATurn = 65_536;

/** Smaller chunks are results of small statements. With TLS, a large result arrives in chunks of this size. */
const smallestChunk = 16_384;

/**
 * Spreads large query results over several turns of the event loop. Otherwise, one turn can read 2 MiB, if PostgreSQL
 * sends them faster than they are parsed.
 */
export function readInTurns(stream: Readable): void {
  let bytes = 0;
  const endTurn = () => {
    bytes = 0;
    if (stream.isPaused()) stream.resume();
  };
  stream.on("data", (chunk: Buffer) => {
    if (chunk.length < smallestChunk) return;
    if (bytes === 0) setImmediate(endTurn);
    bytes += chunk.length;
    if (bytes >= mostInATurn) stream.pause();
  });
}
