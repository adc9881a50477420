const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const wordsOfId = 4;

/** A list of ids that needs 16 bytes for each UUID. Other ids are stored as texts. */
export class IdColumn {
  #words = new Uint32Array(wordsOfId * 16);
  readonly #others = new Map<number, string>();
  size = 0;

  /** Adds an id of another list. */
  addFrom(other: IdColumn, index: number): void {
    const text = other.#others.get(index);
    if (text !== undefined) {
      this.add(text);
      return;
    }
    const start = this.#start();
    for (let word = 0; word < wordsOfId; word += 1) {
      this.#words[start + word] = other.#words[index * wordsOfId + word] ?? 0;
    }
    this.size += 1;
  }

  add(id: string): void {
    const start = this.#start();
    if (uuid.test(id)) {
      this.#words[start] = Number.parseInt(id.slice(0, 8), 16);
      this.#words[start + 1] = Number.parseInt(id.slice(9, 13) + id.slice(14, 18), 16);
      this.#words[start + 2] = Number.parseInt(id.slice(19, 23) + id.slice(24, 28), 16);
      this.#words[start + 3] = Number.parseInt(id.slice(28), 16);
    } else this.#others.set(this.size, id);
    this.size += 1;
  }

  at(index: number): string {
    const other = this.#others.get(index);
    if (other !== undefined) return other;
    const start = index * wordsOfId;
    const [two, three] = [this.#hexAt(start + 1), this.#hexAt(start + 2)];
    const middle = `${two.slice(0, 4)}-${two.slice(4)}-${three.slice(0, 4)}-${three.slice(4)}`;
    return `${this.#hexAt(start)}-${middle}${this.#hexAt(start + 3)}`;
  }

  /** The place of the words of the next id. */
  #start(): number {
    const start = this.size * wordsOfId;
    if (start === this.#words.length) this.#words = grown(this.#words);
    return start;
  }

  #hexAt(index: number): string {
    return (this.#words[index] ?? 0).toString(16).padStart(8, "0");
  }
}

/** A copy of twice the length. */
export function grown(words: Uint32Array<ArrayBuffer>): Uint32Array<ArrayBuffer> {
  const copy = new Uint32Array(words.length * 2);
  copy.set(words);
  return copy;
}
