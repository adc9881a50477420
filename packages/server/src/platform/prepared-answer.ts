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

export class PreparedAnswer {
  /** Becomes the ETag; undefined if the content's hash does. */
  readonly version: number | undefined;
  /** The hash of the content, once it was computed. */
  tag: string | undefined;
  /** Called after the answer has grown by its compressed content. */
  grown: (() => void) | undefined;
  /** The whole content in UTF-8, or its parts between secrets. */
  readonly #parts: readonly Buffer[];
  /** The indexes in `#reveals` of the secrets between the parts. */
  readonly #between: readonly number[];
  readonly #reveals: readonly (() => string)[];
  readonly #encoded = new Map<ContentEncoding, Buffer>();

  private constructor(text: string, reveals: readonly (() => string)[], version: number | undefined) {
    this.version = version;
    this.#reveals = reveals;
    // Splitting by a group keeps the group's matches, so every other piece is the index of a secret.
    const pieces = reveals.length === 0 ? [text] : text.split(markers);
    this.#parts = pieces.filter((_, index) => index % 2 === 0).map((part) => Buffer.from(part));
    this.#between = pieces.filter((_, index) => index % 2 === 1).map(Number);
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
    return new PreparedAnswer(JSON.stringify(body), reveals, version);
  }

  get hasSecrets(): boolean {
    return this.#reveals.length > 0;
  }

  /** The memory that the answer takes, in bytes. */
  get size(): number {
    const buffers = [...this.#parts, ...this.#encoded.values()];
    return buffers.reduce((sum, { length }) => sum + length + 100, this.#reveals.length * 500);
  }

  /** The whole content, with its secrets in plain text. */
  content(): Buffer {
    const [first = Buffer.alloc(0), ...others] = this.#parts;
    if (others.length === 0) return first;
    const secrets = this.#reveals.map((reveal) => Buffer.from(JSON.stringify(reveal()).slice(1, -1)));
    return Buffer.concat([
      first,
      ...others.flatMap((part, index) => [secrets[this.#between[index] ?? 0] ?? first, part]),
    ]);
  }

  /** The compressed content, if it was compressed before. */
  encoded(encoding: ContentEncoding): Buffer | undefined {
    return this.#encoded.get(encoding);
  }

  /** @param bytes the compressed content of an answer without secrets */
  retainEncoded(encoding: ContentEncoding, bytes: Buffer): void {
    if (this.#encoded.get(encoding) === bytes) return;
    this.#encoded.set(encoding, bytes);
    this.grown?.();
  }
}
