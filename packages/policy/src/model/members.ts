import { entriesAtOnce, entryCost, finish, type Work } from "../work.ts";
import type { CompiledDevice } from "./compiled-device.ts";
import type { CompiledUser } from "./compiled-user.ts";
import type { Table } from "./table.ts";

/** Values by the id to which they belong. */
export interface Index<Value> {
  get(id: string): readonly Value[] | undefined;
}

const cachedMembers = new WeakMap<Table<CompiledUser>, Index<CompiledUser>>();
const cachedDevices = new WeakMap<Table<CompiledDevice>, Index<CompiledDevice>>();

/** The users in each group, by group id. Cached as long as the users stay the same. */
export function usersByGroup(users: Table<CompiledUser>): Index<CompiledUser> {
  return finish(indexingUsers(users));
}

/** Indexes like `usersByGroup`, as work that can be suspended between some users. */
export function indexingUsers(users: Table<CompiledUser>): Work<Index<CompiledUser>> {
  return cachedIndex(
    cachedMembers,
    users,
    (user) => [...new Set(user.facts.groups)],
    ({ facts }) => facts.id,
  );
}

/** The devices of each user, by user id. Cached as long as the devices stay the same. */
export function devicesByUser(devices: Table<CompiledDevice>): Index<CompiledDevice> {
  return finish(indexingDevices(devices));
}

function indexingDevices(devices: Table<CompiledDevice>): Work<Index<CompiledDevice>> {
  return cachedIndex(
    cachedDevices,
    devices,
    ({ userId }) => (userId === null ? [] : [userId]),
    ({ facts }) => facts.id,
  );
}

/** The number of users from which an index is cheaper than a scan over all devices. */
const fewUsers = 50;

/**
 * The devices of some users, by user id, as work that can be suspended between some devices.
 *
 * @param userIds undefined for all users
 */
export function* devicesOfUsers(
  devices: Table<CompiledDevice>,
  userIds: ReadonlySet<string> | undefined,
): Work<Index<CompiledDevice>> {
  const known = cachedDevices.get(devices);
  if (known !== undefined) return known;
  if (userIds === undefined || userIds.size >= fewUsers) return yield* indexingDevices(devices);
  const owned = new Map<string, CompiledDevice[]>();
  if (userIds.size === 0) return owned;
  let unpaid = 0;
  for (const device of devices.values()) {
    unpaid += 1;
    if (unpaid === entriesAtOnce) {
      yield unpaid * entryCost;
      unpaid = 0;
    }
    if (device.userId === null || !userIds.has(device.userId)) continue;
    const own = owned.get(device.userId);
    if (own === undefined) owned.set(device.userId, [device]);
    else own.push(device);
  }
  return owned;
}

function* cachedIndex<Value>(
  cache: WeakMap<Table<Value>, Index<Value>>,
  table: Table<Value>,
  keysOf: (value: Value) => readonly string[],
  idOf: (value: Value) => string,
): Work<Index<Value>> {
  const known = cache.get(table);
  if (known !== undefined) return known;
  const index = table.retainsValues
    ? yield* indexing(table, keysOf, (value) => value)
    : new IndexOfIds(yield* indexing(table, keysOf, idOf), table);
  cache.set(table, index);
  return index;
}

function* indexing<Value, Item>(
  table: Table<Value>,
  keysOf: (value: Value) => readonly string[],
  itemOf: (value: Value) => Item,
): Work<ReadonlyMap<string, readonly Item[]>> {
  const index = new Map<string, Item[]>();
  let unpaid = 0;
  for (const value of table.values()) {
    const keys = keysOf(value);
    const item = itemOf(value);
    for (const key of keys) {
      const items = index.get(key);
      if (items === undefined) index.set(key, [item]);
      else items.push(item);
    }
    unpaid += 1 + keys.length;
    if (unpaid < entriesAtOnce) continue;
    yield unpaid * entryCost;
    unpaid = 0;
  }
  return index;
}

/** An index that does not retain the values: a table may create them when they are asked for. */
class IndexOfIds<Value> implements Index<Value> {
  readonly #ids: ReadonlyMap<string, readonly string[]>;
  readonly #table: Table<Value>;

  constructor(ids: ReadonlyMap<string, readonly string[]>, table: Table<Value>) {
    this.#ids = ids;
    this.#table = table;
  }

  get(id: string): readonly Value[] | undefined {
    return this.#ids.get(id)?.flatMap((each) => this.#table.get(each) ?? []);
  }
}
