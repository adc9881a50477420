/** JSON that was serialized before it is sent, without its secrets. */
import { randomBytes } from "node:crypto";

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

/** The place of a secret in the content. */
interface SecretPlace {
  /** The number of bytes before it. */
  readonly at: number;
  /** The index in `#reveals`. */
  readonly secret: number;
}

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
  readonly #reveals: readonly (() => string)[];
  #encoded: Map<ContentEncoding, Buffer> | undefined;

  private constructor(
    bytes: Buffer,
    places: readonly SecretPlace[],
    reveals: readonly (() => string)[],
    version: number | undefined,
  ) {
    this.version = version;
    this.#bytes = bytes;
    this.#places = places;
    this.#reveals = reveals;
  }

  static #ofText(text: string, reveals: readonly (() => string)[], version: number | undefined): PreparedAnswer {
    // Splitting by a group keeps the group's matches, so every other piece is the index of a secret.
    const pieces = reveals.length === 0 ? [text] : text.split(markers);
    const places: SecretPlace[] = [];
    let end = 0;
    for (const [index, piece] of pieces.entries()) {
      if (index % 2 === 0) end += Buffer.byteLength(piece);
      else places.push({ at: end, secret: Number(piece) });
    }
    // Allocate outside the shared buffer pool. One cached answer would otherwise keep a whole pool in memory.
    const bytes = Buffer.allocUnsafeSlow(end);
    let written = 0;
    for (const [index, piece] of pieces.entries()) if (index % 2 === 0) written += bytes.write(piece, written);
    return new PreparedAnswer(bytes, places, reveals, version);
  }

  /** @param present returns the body, with held secrets in the places of secrets */
  static of(present: (hold: HoldSecret) => { readonly body: unknown; readonly version?: number }): PreparedAnswer {
    const reveals: (() => string)[] = [];
    const places = new Map<string, string>();
    const { body, version } = present((key, reveal) => {
      const known = places.get(key);
      if (known !== undefined) return known;
      const place = `${marker}:${reveals.push(reveal) - 1};`;
      places.set(key, place);
      return place;
    });
    return PreparedAnswer.#ofText(JSON.stringify(body), reveals, version);
  }

  /**
   * Joins pieces of JSON. A secret of an answer that occurs several times among the pieces is revealed once for each
   * reply.
   *
   * @param version of a record
   */
  static joined(pieces: readonly (Buffer | PreparedAnswer)[], version?: number): PreparedAnswer {
    let length = 0;
    for (const piece of pieces) length += piece instanceof PreparedAnswer ? piece.#bytes.length : piece.length;
    const bytes = Buffer.allocUnsafeSlow(length);
    const places: SecretPlace[] = [];
    const reveals: (() => string)[] = [];
    /** The index of an answer's first secret in `reveals`. */
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
          first = reveals.length;
          firstSecrets.set(piece, first);
          reveals.push(...piece.#reveals);
        }
        for (const { at, secret } of piece.#places) places.push({ at: written + at, secret: first + secret });
      }
      written += piece.#bytes.copy(bytes, written);
    }
    return new PreparedAnswer(bytes, places, reveals, version);
  }

  get hasSecrets(): boolean {
    return this.#reveals.length > 0;
  }

  /** The memory that the answer takes, in bytes. That of secrets was measured in V8's heap. */
  get size(): number {
    let size = bytesOf(this.#bytes) + this.#places.length * 50 + this.#reveals.length * 1_000;
    for (const encoded of this.#encoded?.values() ?? []) size += bytesOf(encoded);
    return size;
  }

  /** The whole content, with its secrets in plain text. */
  content(): Buffer {
    if (this.#places.length === 0) return this.#bytes;
    const secrets = this.#reveals.map((reveal) => Buffer.from(JSON.stringify(reveal()).slice(1, -1)));
    const length = this.#places.reduce((sum, { secret }) => sum + (secrets[secret]?.length ?? 0), this.#bytes.length);
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
