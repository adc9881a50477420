/**
 * Orders of whole lists, so that pages deep in a list and searches by name do not read all rows before them each time.
 * An order is read after as many rows were read for single pages as the order has. Reading it therefore at most doubles
 * the rows that are read, even if the tenant changes often.
 */
import type { TenantState } from "../tenancy/generation.queries.ts";
import type { ListOrder, OrderedPage } from "./list-order.ts";

/** The page that a request asks for. */
export interface AskedPage {
  /** Identifies the tenant, the list, the order, and all filters except for the search. */
  readonly name: string;
  readonly offset: number;
  readonly limit: number;
  /** A part of the names in lower case; undefined to list all. */
  readonly search: string | undefined;
}

/** Reads a whole order in a snapshot; undefined if it has more rows than `most`, or cannot be searched. */
type ReadOrder = (most: number) => Promise<ListOrder | undefined>;

/** The rows that were read for single pages of one generation. */
interface Demand {
  readonly generation: number;
  rows: number;
  searches: number;
}

/** The part of the capacity that one order can use. */
const largestPart = 3 / 4;
/** The most memory of one order, in bytes: searching it must not block the event loop for long. */
const largestOrder = 16 * 1_048_576;
/** The memory of a record in an order, in bytes: its id, and the least for a name with its end. */
const idBytes = 16;
const searchedBytes = 50;
/** When an order is read instead of single pages. */
export interface OrderThresholds {
  /** Short orders are read after this many rows, because each filter has an order of its own. */
  readonly rows: number;
  readonly searches: number;
}

/** Reading the names of an order takes longer than two searches in the database. */
const defaultThresholds: OrderThresholds = { rows: 2_000, searches: 2 };
/** The most orders whose demand is known. */
const maxDemands = 1_000;
/** Each order that is read holds a connection. */
const maxReading = 1;

export class ListOrderCache {
  readonly #capacity: number;
  readonly #thresholds: OrderThresholds;
  /** Ordered by last use, the least recent first. */
  readonly #orders = new Map<string, ListOrder>();
  readonly #demands = new Map<string, Demand>();
  readonly #reading = new Map<string, Promise<void>>();
  #size = 0;
  #epoch = 0;

  /** @param capacity the most memory of all orders together, in bytes */
  constructor(capacity: number, thresholds: OrderThresholds = defaultThresholds) {
    this.#capacity = capacity;
    this.#thresholds = thresholds;
  }

  get #largest(): number {
    return Math.min(this.#capacity * largestPart, largestOrder);
  }

  get state(): { readonly orders: number; readonly bytes: number } {
    return { orders: this.#orders.size, bytes: this.#size };
  }

  /** Whether `page` can know the order at the tenant's state. */
  mayHave({ name, search }: AskedPage): boolean {
    const order = this.#orders.get(name);
    return order !== undefined && (search === undefined || order.canBeSearched);
  }

  /** @returns undefined if the order is not known at this generation */
  page({ name, offset, limit, search }: AskedPage, { generation }: TenantState): OrderedPage | undefined {
    const order = this.#orders.get(name);
    if (order?.generation !== generation) return undefined;
    if (search !== undefined && !order.canBeSearched) return undefined;
    this.#orders.delete(name);
    this.#orders.set(name, order);
    return search === undefined ? order.page(offset, limit) : order.search(search, offset, limit);
  }

  /**
   * Notes that a page was read from the database. Reads the order in the background if that would have been cheaper.
   *
   * @param total the number of matching records
   */
  missed(asked: AskedPage, { generation }: TenantState, total: number, read: ReadOrder): void {
    const { name, offset, limit, search } = asked;
    let demand = this.#demands.get(name);
    if (demand === undefined || demand.generation < generation) demand = { generation, rows: 0, searches: 0 };
    this.#demands.delete(name);
    this.#demands.set(name, demand);
    for (const oldest of this.#demands.keys()) {
      if (this.#demands.size <= maxDemands) break;
      this.#demands.delete(oldest);
    }
    if (search === undefined) demand.rows += Math.min(offset + limit, total);
    else demand.searches += 1;
    const { rows, searches } = this.#thresholds;
    const isSearched = demand.searches >= searches;
    const most = Math.floor(this.#largest / (isSearched ? searchedBytes + idBytes : idBytes));
    if (search === undefined && (demand.rows < (rows === 0 ? 0 : Math.max(total, rows)) || total > most)) return;
    if (search !== undefined && !isSearched) return;
    if (this.#reading.has(name) || this.#reading.size >= maxReading) return;
    this.#reading.set(name, this.#read(name, read, most));
  }

  /** Waits until every order that is being read is available. */
  async settled(): Promise<void> {
    await Promise.all(this.#reading.values());
  }

  /** Removes everything after generations may have restarted, when a database was restored from a backup. */
  clear(): void {
    this.#orders.clear();
    this.#demands.clear();
    this.#size = 0;
    this.#epoch += 1;
  }

  async #read(name: string, read: ReadOrder, most: number): Promise<void> {
    const epoch = this.#epoch;
    try {
      const order = await read(most);
      if (epoch !== this.#epoch) return;
      // Start again from nothing, even if the order could not be read.
      this.#demands.delete(name);
      if (order !== undefined && order.size <= this.#largest) this.#remember(name, order);
    } catch {
      // The page itself was answered. A later page asks for the order again.
    } finally {
      this.#reading.delete(name);
    }
  }

  #remember(name: string, order: ListOrder): void {
    const known = this.#orders.get(name);
    if (known !== undefined && known.generation > order.generation) return;
    this.#forget(name);
    this.#orders.set(name, order);
    this.#size += order.size;
    for (const oldest of this.#orders.keys()) {
      if (this.#size <= this.#capacity) break;
      this.#forget(oldest);
    }
  }

  #forget(name: string): void {
    const order = this.#orders.get(name);
    if (order === undefined) return;
    this.#size -= order.size;
    this.#orders.delete(name);
  }
}
