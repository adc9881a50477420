import { JSONParser } from "@streamparser/json";

/** Parses a JSON array incrementally from a stream of bytes. Items that were returned are not retained. */
export class ArrayReader {
  readonly #parser = new JSONParser({ paths: ["$.*"], keepStack: false });
  #items: unknown[] = [];
  #started = false;

  constructor() {
    this.#parser.onValue = ({ value }) => this.#items.push(value);
  }

  /**
   * @returns the items that these bytes complete
   * @throws SyntaxError if the bytes are not the next part of an array
   */
  read(bytes: Uint8Array): readonly unknown[] {
    this.#start(bytes);
    try {
      // White space can follow the end, but an ended parser rejects input.
      if (!this.#parser.isEnded) this.#parser.write(bytes);
    } catch (error) {
      throw new SyntaxError("not JSON", { cause: error });
    }
    const items = this.#items;
    this.#items = [];
    return items;
  }

  /** Whether the end of the array was read. Otherwise the list is incomplete. */
  get isComplete(): boolean {
    return this.#parser.isEnded;
  }

  #start(bytes: Uint8Array): void {
    if (this.#started) return;
    const first = bytes.find((byte) => !whiteSpace.includes(byte));
    if (first === undefined) return;
    if (first !== openingBracket) throw new SyntaxError("not an array");
    this.#started = true;
  }
}

const openingBracket = 0x5b;
/** Space, tab, line feed, carriage return (RFC 8259, section 2). */
const whiteSpace: readonly number[] = [0x20, 0x09, 0x0a, 0x0d];
