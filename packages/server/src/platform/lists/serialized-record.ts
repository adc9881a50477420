/** Records of lists as JSON, without the parts that many records embed. */
import { randomBytes } from "node:crypto";
import { type HoldSecret, PreparedAnswer } from "../prepared-answer.ts";

/** A part of records that is serialized once, such as a gateway that many resources embed. */
export interface SharedPart {
  /** Equal for equal parts of one list. */
  readonly key: string;
  /** Whether writes outside commands can change the part. They change the tenant's count of observations. */
  readonly isObserved: boolean;
  readonly json: PreparedAnswer;
}

/** A record as JSON in UTF-8. Each shared part belongs at its place in the bytes. */
export interface SerializedRecord {
  readonly id: string;
  readonly version: number;
  readonly bytes: Buffer;
  /** Parts in the order of their places. */
  readonly parts: readonly { readonly at: number; readonly part: SharedPart }[];
}

/**
 * Takes the place of a part that many records embed.
 *
 * @param key identifies the part among all parts of the list
 * @param present returns the part. Called for the first record that embeds it.
 * @returns a value for the place of the part
 */
export type SharePart = (key: string, isObserved: boolean, present: (hold: HoldSecret) => unknown) => unknown;

/** Random, so that no stored text can contain it. */
const marker = randomBytes(16).toString("hex");
const markers = new RegExp(`"${marker}:(\\d+)"`);

/** Serializes records of one snapshot, which share parts. */
export class RecordSerializer {
  readonly #parts: SharedPart[] = [];
  readonly #places = new Map<string, string>();

  serialize(
    { id, version }: Pick<SerializedRecord, "id" | "version">,
    present: (share: SharePart) => unknown,
  ): SerializedRecord {
    const text = JSON.stringify(present(this.#share));
    // Splitting by a group keeps the group's matches, so every other piece is the index of a part.
    const pieces = text.split(markers);
    const parts: { at: number; part: SharedPart }[] = [];
    if (pieces.length === 1) return { id, version, bytes: Buffer.from(text), parts };
    let at = 0;
    let own = "";
    for (const [index, piece] of pieces.entries()) {
      if (index % 2 === 0) {
        own += piece;
        at += Buffer.byteLength(piece);
      } else {
        const part = this.#parts[Number(piece)];
        if (part !== undefined) parts.push({ at, part });
      }
    }
    return { id, version, bytes: Buffer.from(own), parts };
  }

  readonly #share: SharePart = (key, isObserved, present) => {
    let place = this.#places.get(key);
    if (place === undefined) {
      const json = PreparedAnswer.of((hold) => ({ body: present(hold) }));
      place = `${marker}:${this.#parts.push({ key, isObserved, json }) - 1}`;
      this.#places.set(key, place);
    }
    return place;
  };
}

/** The JSON of a record in pieces. */
export interface RecordPieces {
  readonly version: number;
  readonly pieces: readonly (Buffer | PreparedAnswer)[];
}

export function piecesOf({ version, bytes, parts }: SerializedRecord): RecordPieces {
  const pieces: (Buffer | PreparedAnswer)[] = [];
  let from = 0;
  for (const { at, part } of parts) {
    if (at > from) pieces.push(bytes.subarray(from, at));
    pieces.push(part.json);
    from = at;
  }
  if (from < bytes.length) pieces.push(bytes.subarray(from));
  return { version, pieces };
}
