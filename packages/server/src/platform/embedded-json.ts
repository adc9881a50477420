/** JSON that PostgreSQL wrote, inside values that are serialized. It is neither parsed nor serialized again. */
import { randomBytes } from "node:crypto";

/** Returns a value for the place of JSON. */
export type EmbedJson = <T>(json: string) => T;

/** Random, so that no stored text can contain it. */
const marker = randomBytes(16).toString("hex");
const places = new RegExp(`"${marker}:(\\d+)"`);

/** The texts of the value that `jsonPieces` serializes. */
let texts: string[] | undefined;

class EmbeddedJson {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  get text(): string {
    return this.#text;
  }

  toJSON(): unknown {
    if (texts === undefined) return JSON.parse(this.#text);
    return `${marker}:${texts.push(this.#text) - 1}`;
  }
}

/** Embeds JSON into a value that is only serialized. */
export const embedJson: EmbedJson = <T>(json: string) => new EmbeddedJson(json) as T; // serialized as a T

/** The JSON in the place of a value; undefined for another value. */
export function embeddedText(value: unknown): string | undefined {
  return value instanceof EmbeddedJson ? value.text : undefined;
}

/** The JSON of a value in pieces that follow each other. Embedded JSON is a piece of its own. */
export function jsonPieces(value: unknown): string[] {
  const found: string[] = [];
  texts = found;
  try {
    const text = JSON.stringify(value);
    if (found.length === 0) return [text];
    // Splitting by a group keeps the group's matches, so every other piece is the index of a text.
    return text.split(places).map((piece, index) => (index % 2 === 0 ? piece : (found[Number(piece)] ?? "")));
  } finally {
    texts = undefined;
  }
}
