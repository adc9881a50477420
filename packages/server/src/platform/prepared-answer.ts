/** JSON that was serialized before it is sent, without its secrets. */
import { createHash, randomBytes } from "node:crypto";
import { finish, type Work } from "@gatehouse/policy/work";
import { forgetAfterTurn } from "./concurrency/after-turn.ts";
import { jsonPieces } from "./embedded-json.ts";

/** Content encodings in which an answer can be sent. */
export type ContentEncoding = "br" | "gzip";

/**
 * Takes the place of a secret until the answer is sent.
 *
 * @param key equal for equal secrets
 * @param reveal decrypts the secret for each answer that contains it
 * @returns a text for the place of the secret
 */
export type HoldSecret = (key: string, reveal: () => string) => string;

/** Random, so that no stored text can contain it. */
const marker = randomBytes(16).toString("hex");
const markers = new RegExp(`${marker}:(\\d+);`);

/**
 * A secret of answers. All answers that are sent in one turn of the event loop share its plain text, because decrypting
 * it costs more than the rest of a cached answer. No plain text outlives the turn.
 */
class HeldSecret {
  readonly #reveal: () => string;
  #json: Buffer | undefined;

  constructor(reveal: () => string) {
    this.#reveal = reveal;
  }

  /** The text as a part of a JSON string. */
  get json(): Buffer {
    if (this.#json === undefined) {
      this.#json = Buffer.from(JSON.stringify(this.#reveal()).slice(1, -1));
      forgetAfterTurn(this);
    }
    return this.#json;
  }

  forget(): void {
    this.#json = undefined;
  }
}

/** The place of a secret in the content. */
interface SecretPlace {
  /** The number of bytes before it. */
  readonly at: number;
  /** The index in `#secrets`. */
  readonly secret: number;
}

/** @param hold returns a text for the place of a secret */
type PresentAnswer = (hold: HoldSecret) => { readonly body: unknown; readonly version?: number };

/** The most characters that are copied, or bytes that are hashed, before others get a turn. */
const sliceLength = 65_536;
/** The cost of copying a character, in rule-cost units of 20 ns. */
const unitsOfCharacter = 0.03;
/** The cost of hashing a byte. */
const unitsOfHashing = 0.1;

function* slicesOf(text: string): Iterable<string> {
  if (text.length <= sliceLength) yield text;
  else {
    for (let start = 0; start < text.length; ) {
      let end = start + sliceLength;
      // Both halves of a surrogate pair stay together.
      if (isHighSurrogate(text.charCodeAt(end - 1))) end -= 1;
      yield text.slice(start, end);
      start = end;
    }
  }
}

const isHighSurrogate = (code: number) => code >= 0xd800 && code <= 0xdbff;

/** The memory of a buffer with its object, in bytes. */
const bytesOf = ({ length }: Buffer) => length + 200;

export class PreparedAnswer {
  /** Becomes the ETag; undefined if the content's hash does. */
  readonly version: number | undefined;
  /** The hash of the content, once it was computed. */
  tag: string | undefined;
  /** Called after the answer has grown by its compressed content. */
  grown: (() => void) | undefined;
  /** The content in UTF-8, without the secrets. */
  readonly #bytes: Buffer;
  readonly #places: readonly SecretPlace[];
  readonly #secrets: readonly HeldSecret[];
  #encoded: Map<ContentEncoding, Buffer> | undefined;
  /** The content with its secrets, until the end of the turn of the event loop. */
  #content: Buffer | undefined;

  private constructor(
    bytes: Buffer,
    places: readonly SecretPlace[],
    secrets: readonly HeldSecret[],
    version: number | undefined,
  ) {
    this.version = version;
    this.#bytes = bytes;
    this.#places = places;
    this.#secrets = secrets;
  }

  static *#ofPieces(
    json: readonly string[],
    secrets: readonly HeldSecret[],
    version: number | undefined,
  ): Work<PreparedAnswer> {
    const texts: string[] = [];
    const places: SecretPlace[] = [];
    let end = 0;
    for (const text of json) {
      // Splitting by a group keeps the group's matches, so every other piece is the index of a secret.
      for (const [index, piece] of (secrets.length === 0 ? [text] : text.split(markers)).entries()) {
        if (index % 2 === 1) places.push({ at: end, secret: Number(piece) });
        else {
          for (const slice of slicesOf(piece)) {
            end += Buffer.byteLength(slice);
            texts.push(slice);
            yield slice.length * unitsOfCharacter;
          }
        }
      }
    }
    // Allocate outside the shared buffer pool. One cached answer would otherwise keep a whole pool in memory.
    const bytes = Buffer.allocUnsafeSlow(end);
    let written = 0;
    for (const text of texts) {
      written += bytes.write(text, written);
      yield text.length * unitsOfCharacter;
    }
    return new PreparedAnswer(bytes, places, secrets, version);
  }

  static of(present: PresentAnswer): PreparedAnswer {
    return finish(PreparedAnswer.inSlices(present));
  }

  /** Serializes the body, and copies long embedded JSON in slices. */
  static *inSlices(present: PresentAnswer): Work<PreparedAnswer> {
    const secrets: HeldSecret[] = [];
    const places = new Map<string, string>();
    const { body, version } = present((key, reveal) => {
      const known = places.get(key);
      if (known !== undefined) return known;
      const place = `${marker}:${secrets.push(new HeldSecret(reveal)) - 1};`;
      places.set(key, place);
      return place;
    });
    return yield* PreparedAnswer.#ofPieces(jsonPieces(body), secrets, version);
  }

  /**
   * Joins pieces of JSON.
   *
   * @param version of a record
   */
  static joined(pieces: readonly (Buffer | PreparedAnswer)[], version?: number): PreparedAnswer {
    let length = 0;
    for (const piece of pieces) length += piece instanceof PreparedAnswer ? piece.#bytes.length : piece.length;
    const bytes = Buffer.allocUnsafeSlow(length);
    const places: SecretPlace[] = [];
    const secrets: HeldSecret[] = [];
    /** The index of an answer's first secret in `secrets`. */
    const firstSecrets = new Map<PreparedAnswer, number>();
    let written = 0;
    for (const piece of pieces) {
      if (!(piece instanceof PreparedAnswer)) {
        written += piece.copy(bytes, written);
        continue;
      }
      if (piece.#places.length > 0) {
        let first = firstSecrets.get(piece);
        if (first === undefined) {
          first = secrets.length;
          firstSecrets.set(piece, first);
          secrets.push(...piece.#secrets);
        }
        for (const { at, secret } of piece.#places) places.push({ at: written + at, secret: first + secret });
      }
      written += piece.#bytes.copy(bytes, written);
    }
    return new PreparedAnswer(bytes, places, secrets, version);
  }

  /** Whether the answer has no secrets, but so many bytes that they must be hashed and sent in slices. */
  get isLarge(): boolean {
    return this.#secrets.length === 0 && this.#bytes.length > sliceLength;
  }

  /** The number of bytes without the secrets. */
  get length(): number {
    return this.#bytes.length;
  }

  /** The SHA-256 hash of a large answer in base64url. */
  *hash(): Work<string> {
    const hash = createHash("sha256");
    for (let start = 0; start < this.#bytes.length; start += sliceLength) {
      const slice = this.#bytes.subarray(start, start + sliceLength);
      hash.update(slice);
      yield slice.length * unitsOfHashing;
    }
    return hash.digest("base64url");
  }

  get hasSecrets(): boolean {
    return this.#secrets.length > 0;
  }

  /** The memory that the answer takes, in bytes. That of secrets was measured in V8's heap. */
  get size(): number {
    let size = bytesOf(this.#bytes) + this.#places.length * 50 + this.#secrets.length * 1_000;
    for (const encoded of this.#encoded?.values() ?? []) size += bytesOf(encoded);
    return size;
  }

  /** The whole content, with its secrets in plain text. Do not retain it beyond the turn of the event loop. */
  content(): Buffer {
    if (this.#places.length === 0) return this.#bytes;
    if (this.#content === undefined) {
      this.#content = this.#withSecrets();
      forgetAfterTurn(this);
    }
    return this.#content;
  }

  forget(): void {
    this.#content = undefined;
  }

  #withSecrets(): Buffer {
    const secrets = this.#secrets.map(({ json }) => json);
    let length = this.#bytes.length;
    for (const { secret } of this.#places) length += secrets[secret]?.length ?? 0;
    const content = Buffer.allocUnsafe(length);
    let start = 0;
    let written = 0;
    for (const { at, secret } of this.#places) {
      written += this.#bytes.copy(content, written, start, at);
      written += secrets[secret]?.copy(content, written) ?? 0;
      start = at;
    }
    this.#bytes.copy(content, written, start);
    return content;
  }

  /** The compressed content, if it was compressed before. */
  encoded(encoding: ContentEncoding): Buffer | undefined {
    return this.#encoded?.get(encoding);
  }

  /** @param bytes the compressed content of an answer without secrets */
  retainEncoded(encoding: ContentEncoding, bytes: Buffer): void {
    this.#encoded ??= new Map();
    if (this.#encoded.get(encoding) === bytes) return;
    this.#encoded.set(encoding, bytes);
    this.grown?.();
  }
}
