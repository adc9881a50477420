import { entriesAtOnce, entryCost, finish, type Work } from "../work.ts";
import type { CompiledDevice } from "./compiled-device.ts";
import type { CompiledUser } from "./compiled-user.ts";
import type { Table } from "./table.ts";

const cachedMembers = new WeakMap<Table<CompiledUser>, ReadonlyMap<string, readonly CompiledUser[]>>();
const cachedDevices = new WeakMap<Table<CompiledDevice>, ReadonlyMap<string, readonly CompiledDevice[]>>();

type Index<Value> = ReadonlyMap<string, readonly Value[]>;

/** The users in each group, by group id. Cached as long as the users stay the same. */
export function usersByGroup(users: Table<CompiledUser>): Index<CompiledUser> {
  return finish(indexingUsers(users));
}

/** Indexes like `usersByGroup`, as work that can be suspended between some users. */
export function indexingUsers(users: Table<CompiledUser>): Work<Index<CompiledUser>> {
  return cachedIndex(cachedMembers, users, (user) => [...new Set(user.facts.groups)]);
}

/** The devices of each user, by user id. Cached as long as the devices stay the same. */
export function devicesByUser(devices: Table<CompiledDevice>): Index<CompiledDevice> {
  return finish(indexingDevices(devices));
}

function indexingDevices(devices: Table<CompiledDevice>): Work<Index<CompiledDevice>> {
  return cachedIndex(cachedDevices, devices, ({ userId }) => (userId === null ? [] : [userId]));
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
): Work<Index<Value>> {
  const known = cache.get(table);
  if (known !== undefined) return known;
  const index = new Map<string, Value[]>();
  let unpaid = 0;
  for (const value of table.values()) {
    const keys = keysOf(value);
    for (const key of keys) {
      const values = index.get(key);
      if (values === undefined) index.set(key, [value]);
      else values.push(value);
    }
    unpaid += 1 + keys.length;
    if (unpaid < entriesAtOnce) continue;
    yield unpaid * entryCost;
    unpaid = 0;
  }
  cache.set(table, index);
  return index;
}
