import { longestMessage, longestPart, type Part } from "./frames.ts";
import { TextPiece } from "./text-piece.ts";

/** Returns the frames of a message: the message itself, or its parts if it is too long. */
export function* framesOf(message: object): Iterable<string> {
  const text = JSON.stringify(message);
  if (text.length <= longestPart) {
    yield text;
    return;
  }
  for (let start = 0, index = 0; start < text.length; start += longestPart, index += 1) {
    const isLast = start + longestPart >= text.length;
    const part: Part = { type: "part", index, isLast, text: text.slice(start, start + longestPart) };
    yield JSON.stringify(part);
  }
}

/**
 * Returns the frames of a message whose text consists of pieces. Pieces that messages share are encoded once. Pieces
 * are read when a frame needs them, so that a link whose agent does not read holds little data.
 */
export function* framesOfPieces(pieces: Iterable<TextPiece>): Iterable<string> {
  let index = 0;
  let length = 0;
  let part: TextPiece[] = [];
  const frame = (isLast: boolean) => {
    const text = part.map(({ escaped }) => escaped).join("");
    return `{"type":"part","index":${index},"isLast":${isLast},"text":"${text}"}`;
  };
  for (const piece of limited(pieces)) {
    if (length + piece.text.length > longestPart) {
      yield frame(false);
      index += 1;
      length = 0;
      part = [];
    }
    part.push(piece);
    length += piece.text.length;
  }
  yield index === 0 ? part.map(({ text }) => text).join("") : frame(true);
}

/** The pieces, and slices of those that do not fit into a part. */
function* limited(pieces: Iterable<TextPiece>): Iterable<TextPiece> {
  for (const piece of pieces) {
    const { text } = piece;
    if (text.length <= longestPart) yield piece;
    else {
      for (let start = 0; start < text.length; start += longestPart) {
        yield new TextPiece(text.slice(start, start + longestPart));
      }
    }
  }
}

/** Reassembles messages from parts. */
export class PartsReader {
  #texts: string[] = [];
  #length = 0;

  /**
   * Reads the next part.
   *
   * @returns the message's text after its last part, undefined before; `protocol` for a part out of order or a message
   *   that is too long. The link must be closed then
   */
  read({ index, isLast, text }: Part): { readonly text: string } | "protocol" | undefined {
    if (index !== this.#texts.length || this.#length + text.length > longestMessage) return "protocol";
    this.#texts.push(text);
    this.#length += text.length;
    if (!isLast) return undefined;
    const whole = this.#texts.join("");
    this.#texts = [];
    this.#length = 0;
    return { text: whole };
  }
}
