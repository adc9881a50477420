import { listsOf, type OfferedProtocols, type ProtocolList } from "@gatehouse/policy/model/protocol-lists";
import { sharedProtocols } from "./shared-protocols.ts";

/** The most decoded texts that a page caches. Most addresses have one of few combinations of protocols. */
const mostDecoded = 200;
/**
 * The number of lists that changes may add beyond twice the original number, before the rows of the page are rewritten.
 */
const spareLists = 64;

/**
 * The port lists of a page. Rows refer to lists by number, which needs a few bytes for each protocol instead of the
 * text of up to 100 ports. An unused list stays until the rows are rewritten.
 */
export class PageLists {
  readonly #lists: ProtocolList[] = [];
  readonly #numbers = new Map<ProtocolList, number>();
  readonly #decoded = new Map<string, OfferedProtocols>();
  /** The number of lists when the rows were written. Undefined while they are written. */
  readonly #written: number | undefined;

  /** @param source the lists of the page from which rows are copied */
  constructor(source?: PageLists) {
    if (source === undefined) return;
    for (const list of source.#lists) this.add(list);
    this.#written = source.#written ?? source.size;
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

  /** Encodes protocols as the numbers of their lists, or as a star and the number of the only list. */
  textOf(protocols: OfferedProtocols): string {
    const lists = listsOf(protocols);
    const numbers = lists.map((list) => this.add(list)).join(" ");
    return lists[0] === protocols ? `*${numbers}` : numbers;
  }

  /** Decodes protocols. Addresses with the same text share a list of lists. */
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
    if (list === undefined) throw new RangeError(`port list ${number} is missing from the page`);
    return list;
  }
}

const none: OfferedProtocols = [];
