import { longestMessage, longestPart, type Part } from "./frames.ts";

/** A message as the texts of frames: itself, or parts where it is too long for one. */
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

/** Puts parts together again. */
export class PartsReader {
  #texts: string[] = [];
  #length = 0;

  /**
   * @returns the message's text with its last part, undefined before; `protocol` for a part that is not the next, or a message that is too long:
   *   the link is of no more use then
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
