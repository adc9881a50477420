import { JSONParser } from "@streamparser/json";

/** Reads a JSON array from its bytes as they come, and keeps none of its items. */
export class ArrayReader {
  readonly #parser = new JSONParser({ paths: ["$.*"], keepStack: false });
  #items: unknown[] = [];
  #begun = false;

  constructor() {
    this.#parser.onValue = ({ value }) => this.#items.push(value);
  }

  /**
   * @returns the items that these bytes complete
   * @throws SyntaxError where they are not the next part of an array
   */
  read(bytes: Uint8Array): readonly unknown[] {
    this.#begin(bytes);
    try {
      // After the end there may be white space, which an ended parser does not take.
      if (!this.#parser.isEnded) this.#parser.write(bytes);
    } catch (error) {
      throw new SyntaxError("not JSON", { cause: error });
    }
    const items = this.#items;
    this.#items = [];
    return items;
  }

  /** Whether the array was closed. One that was not is not all of the list. */
  get isWhole(): boolean {
    return this.#parser.isEnded;
  }

  #begin(bytes: Uint8Array): void {
    if (this.#begun) return;
    const first = bytes.find((byte) => !whiteSpace.includes(byte));
    if (first === undefined) return;
    if (first !== openingBracket) throw new SyntaxError("no array");
    this.#begun = true;
  }
}

const openingBracket = 0x5b;
/** Space, tab, line feed, carriage return (RFC 8259, section 2). */
const whiteSpace: readonly number[] = [0x20, 0x09, 0x0a, 0x0d];
