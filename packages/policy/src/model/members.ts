/** Users by group, and devices by user. */
import { entriesAtOnce, entryCost, SharedWork, type Work } from "../work.ts";
import type { CompiledDevice } from "./compiled-device.ts";
import type { CompiledUser } from "./compiled-user.ts";
import type { Records, Table } from "./table.ts";

/** Values by the id to which they are linked. */
export interface Index<Value> {
  get(id: string): readonly Value[];
  /** The ids of these values, determined lazily: a caller can suspend the iteration over a large group. */
  idsOf(id: string): Iterable<string>;
}

/** The users in each group, by group id. Indexes as work that can be suspended between some users. */
export function indexingUsers(users: Table<CompiledUser>): Work<Index<CompiledUser>> {
  return indexing(users, userLinks);
}

/** The devices of each user, by user id. Indexes as work that can be suspended between some devices. */
export function indexingDevices(devices: Table<CompiledDevice>): Work<Index<CompiledDevice>> {
  return indexing(devices, deviceLinks);
}

/** The links of values of one kind, and the indexes by these links. */
interface Links<Value> {
  idOf(value: Value): string;
  linkedOf(value: Value): readonly string[];
  /** Indexes of the bases of tables. Tables with few different records share them. */
  readonly indexes: WeakMap<Records<Value>, SharedWork<Items<Value>>>;
  readonly cached: WeakMap<Table<Value>, Index<Value>>;
}

/** Values by the ids to which they are linked, or the ids of values that are created when they are asked for. */
type Items<Value> = ReadonlyMap<string, readonly Value[] | readonly string[]>;

const userLinks: Links<CompiledUser> = {
  idOf: ({ facts }) => facts.id,
  linkedOf: ({ facts }) => [...new Set(facts.groups)],
  indexes: new WeakMap(),
  cached: new WeakMap(),
};

const deviceLinks: Links<CompiledDevice> = {
  idOf: ({ facts }) => facts.id,
  linkedOf: ({ userId }) => (userId === null ? [] : [userId]),
  indexes: new WeakMap(),
  cached: new WeakMap(),
};

function* indexing<Value>(table: Table<Value>, links: Links<Value>): Work<Index<Value>> {
  const known = links.cached.get(table);
  if (known !== undefined) return known;
  let work = links.indexes.get(table.base);
  if (work === undefined) {
    work = new SharedWork(collecting(table.base, links));
    links.indexes.set(table.base, work);
  }
  const index = yield* withChanges(yield* work.finishing(), table, links);
  links.cached.set(table, index);
  return index;
}

function* collecting<Value>(base: Records<Value>, links: Links<Value>): Work<Items<Value>> {
  const items = new Map<string, (Value | string)[]>();
  const entries = base.links?.() ?? linksOf(base, links);
  let unpaid = 0;
  for (const [item, linked] of entries) {
    for (const id of linked) {
      const list = items.get(id);
      if (list === undefined) items.set(id, [item]);
      else list.push(item);
    }
    unpaid += 1 + linked.length;
    if (unpaid < entriesAtOnce) continue;
    yield unpaid * entryCost;
    unpaid = 0;
  }
  yield unpaid * entryCost;
  return items as Items<Value>; // all items are ids, or all are values
}

function* linksOf<Value>(
  base: Records<Value>,
  { linkedOf }: Links<Value>,
): Iterable<readonly [item: Value | string, linked: readonly string[]]> {
  const { retainsValues = true } = base;
  for (const [id, value] of base) yield [retainsValues ? value : id, linkedOf(value)];
}

/** The index of a table, from that of its base. */
function* withChanges<Value>(items: Items<Value>, table: Table<Value>, links: Links<Value>): Work<Index<Value>> {
  const changed = new Map<string, Value[]>();
  let unpaid = 0;
  for (const value of table.changed.values()) {
    for (const id of value === undefined ? [] : links.linkedOf(value)) {
      const list = changed.get(id);
      if (list === undefined)
        changed.set(id, [value as Value]); // not undefined, as checked above
      else list.push(value as Value);
    }
    unpaid += 1;
    if (unpaid < entriesAtOnce) continue;
    yield unpaid * entryCost;
    unpaid = 0;
  }
  yield unpaid * entryCost;
  return new TableIndex(items, changed, table, links);
}

class TableIndex<Value> implements Index<Value> {
  readonly #items: Items<Value>;
  readonly #changed: ReadonlyMap<string, readonly Value[]>;
  readonly #table: Table<Value>;
  readonly #links: Links<Value>;
  /** Lists of values that were asked for. Empty if the table does not retain its values. */
  readonly #found = new Map<string, readonly Value[]>();

  constructor(
    items: Items<Value>,
    changed: ReadonlyMap<string, readonly Value[]>,
    table: Table<Value>,
    links: Links<Value>,
  ) {
    this.#items = items;
    this.#changed = changed;
    this.#table = table;
    this.#links = links;
  }

  get(id: string): readonly Value[] {
    const items = this.#items.get(id) ?? [];
    if (this.#table.changed.size === 0 && areValues(items)) return items;
    const known = this.#found.get(id);
    if (known !== undefined) return known;
    const values = [...this.#unchanged(items), ...(this.#changed.get(id) ?? [])];
    if (this.#table.retainsValues) this.#found.set(id, values);
    return values;
  }

  *idsOf(id: string): Iterable<string> {
    const { changed } = this.#table;
    const { idOf } = this.#links;
    for (const item of this.#items.get(id) ?? []) {
      const itemId = typeof item === "string" ? item : idOf(item);
      if (!changed.has(itemId)) yield itemId;
    }
    for (const value of this.#changed.get(id) ?? []) yield idOf(value);
  }

  *#unchanged(items: readonly Value[] | readonly string[]): Iterable<Value> {
    const { changed, base } = this.#table;
    for (const item of items) {
      if (typeof item !== "string") {
        if (!changed.has(this.#links.idOf(item))) yield item;
      } else if (!changed.has(item)) {
        const value = base.get(item);
        if (value !== undefined) yield value;
      }
    }
  }
}

function areValues<Value>(items: readonly Value[] | readonly string[]): items is readonly Value[] {
  return typeof items[0] !== "string";
}
