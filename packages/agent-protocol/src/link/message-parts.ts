import { longestMessage, longestPart, type Part } from "./frames.ts";

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
