import { randomFillSync } from "node:crypto";
import { v7 } from "uuid";

const idBytes = 16;
/** Random bytes for the next ids. Each request for random bytes takes longer than the rest of an id. */
const randomBytes = Buffer.alloc(256 * idBytes);
let usedBytes = randomBytes.length;
/** The time of the latest id, and its number in that millisecond. The number starts at random, below 2^31. */
let latestMs = 0;
let number = 0;

/** Generates a UUIDv7 (RFC 9562). Its order is the order of creation, so that an index on ids is also one on age. */
export function newId(): string {
  if (usedBytes === randomBytes.length) {
    randomFillSync(randomBytes);
    usedBytes = 0;
  }
  const random = randomBytes.subarray(usedBytes, usedBytes + idBytes);
  usedBytes += idBytes;
  const now = Date.now();
  if (now > latestMs) {
    latestMs = now;
    number = random.readUInt32BE(0) >>> 1;
  } else {
    number = (number + 1) | 0;
    if (number === 0) latestMs += 1;
  }
  return v7({ random, msecs: latestMs, seq: number });
}

/** The nil UUID (RFC 9562). It sorts before every id, and no record has it. */
export const nilId = "00000000-0000-0000-0000-000000000000";

const uuidForm = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Whether the text is a UUID, in upper or lower case. */
export function isUuid(text: string): boolean {
  return uuidForm.test(text);
}
