import { listsOf, type OfferedProtocols, type ProtocolList } from "@gatehouse/policy/model/protocol-lists";
import { sharedProtocols } from "./shared-protocols.ts";

/** The most decoded texts that a page remembers. Most addresses have one of few combinations of protocols. */
const mostDecoded = 200;
/** The lists that changes may add to a page in addition to its own number, before its rows are written again. */
const spareLists = 64;

/**
 * The lists of ports of a page. Its rows refer to them by number, so that a row needs a few bytes for each protocol
 * instead of the text of up to 100 ports. A list that no row refers to any more stays until the rows are written again.
 */
export class PageLists {
  readonly #lists: ProtocolList[] = [];
  readonly #numbers = new Map<ProtocolList, number>();
  readonly #decoded = new Map<string, OfferedProtocols>();
  /** The number of lists when the rows were written. Undefined while they are written. */
  readonly #written: number | undefined;

  /** @param before the lists of a page from which rows are copied */
  constructor(before?: PageLists) {
    if (before === undefined) return;
    for (const list of before.#lists) this.add(list);
    this.#written = before.#written ?? before.size;
  }

  get size(): number {
    return this.#lists.length;
  }

  /** Whether the page may have many lists that no row refers to. */
  get isWasteful(): boolean {
    return this.#written !== undefined && this.size > 2 * this.#written + spareLists;
  }

  [Symbol.iterator](): Iterator<ProtocolList> {
    return this.#lists[Symbol.iterator]();
  }

  /** @returns the number of the list */
  add(list: ProtocolList): number {
    const own = this.#numbers.get(list);
    if (own !== undefined) return own;
    const shared = sharedProtocols(list);
    const known = this.#numbers.get(shared);
    if (known !== undefined) return known;
    this.#numbers.set(shared, this.#lists.length);
    return this.#lists.push(shared) - 1;
  }

  /** The text of protocols: the numbers of their lists, or a star and the number of the only list. */
  textOf(protocols: OfferedProtocols): string {
    const lists = listsOf(protocols);
    const numbers = lists.map((list) => this.add(list)).join(" ");
    return lists[0] === protocols ? `*${numbers}` : numbers;
  }

  /** The protocols of a text. Addresses with the same text share a list of lists. */
  protocolsOf(text: string): OfferedProtocols {
    if (text === "") return none;
    const known = this.#decoded.get(text);
    if (known !== undefined) return known;
    const protocols = text.startsWith("*")
      ? this.#at(text.slice(1))
      : text.split(" ").map((number) => this.#at(number));
    if (this.#decoded.size < mostDecoded) this.#decoded.set(text, protocols);
    return protocols;
  }

  #at(number: string): ProtocolList {
    const list = this.#lists[Number(number)];
    if (list === undefined) throw new RangeError(`a page has no list ${number}`);
    return list;
  }
}

const none: OfferedProtocols = [];
