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

/** Returns the frames of a message whose text consists of pieces. Pieces that messages share are encoded once. */
export function* framesOfPieces(pieces: readonly TextPiece[]): Iterable<string> {
  let length = 0;
  for (const { text } of pieces) length += text.length;
  if (length <= longestPart) {
    yield pieces.map(({ text }) => text).join("");
    return;
  }
  let index = 0;
  let room = longestPart;
  let texts: string[] = [];
  const frame = (isLast: boolean) => `{"type":"part","index":${index},"isLast":${isLast},"text":"${texts.join("")}"}`;
  for (const piece of pieces.flatMap(limited)) {
    if (piece.text.length > room) {
      yield frame(false);
      index += 1;
      texts = [];
      room = longestPart;
    }
    texts.push(piece.escaped);
    room -= piece.text.length;
  }
  yield frame(true);
}

/** The piece, or slices of it that fit into a part. */
function limited(piece: TextPiece): TextPiece | TextPiece[] {
  const { text } = piece;
  if (text.length <= longestPart) return piece;
  const count = Math.ceil(text.length / longestPart);
  return Array.from({ length: count }, (_, index) => {
    const start = index * longestPart;
    return new TextPiece(text.slice(start, start + longestPart));
  });
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
