import type { CompiledDevice } from "./compiled-device.ts";
import type { CompiledUser } from "./compiled-user.ts";
import type { Table } from "./table.ts";

const cachedMembers = new WeakMap<Table<CompiledUser>, ReadonlyMap<string, readonly CompiledUser[]>>();
const cachedDevices = new WeakMap<Table<CompiledDevice>, ReadonlyMap<string, readonly CompiledDevice[]>>();

/** The users in each group, by group id. Cached as long as the users stay the same. */
export function usersByGroup(users: Table<CompiledUser>): ReadonlyMap<string, readonly CompiledUser[]> {
  return cachedIndex(cachedMembers, users, (user) => [...new Set(user.facts.groups)]);
}

/** The devices of each user, by user id. Cached as long as the devices stay the same. */
export function devicesByUser(devices: Table<CompiledDevice>): ReadonlyMap<string, readonly CompiledDevice[]> {
  return cachedIndex(cachedDevices, devices, ({ userId }) => (userId === null ? [] : [userId]));
}

/** The number of users from which an index is cheaper than a scan over all devices. */
const fewUsers = 50;

/**
 * The devices of some users, by user id.
 *
 * @param userIds undefined for all users
 */
export function devicesOfUsers(
  devices: Table<CompiledDevice>,
  userIds: ReadonlySet<string> | undefined,
): ReadonlyMap<string, readonly CompiledDevice[]> {
  const known = cachedDevices.get(devices);
  if (known !== undefined) return known;
  if (userIds === undefined || userIds.size >= fewUsers) return devicesByUser(devices);
  const owned = new Map<string, CompiledDevice[]>();
  if (userIds.size === 0) return owned;
  for (const device of devices.values()) {
    if (device.userId === null || !userIds.has(device.userId)) continue;
    const own = owned.get(device.userId);
    if (own === undefined) owned.set(device.userId, [device]);
    else own.push(device);
  }
  return owned;
}

function cachedIndex<Value>(
  cache: WeakMap<Table<Value>, ReadonlyMap<string, readonly Value[]>>,
  table: Table<Value>,
  keysOf: (value: Value) => readonly string[],
): ReadonlyMap<string, readonly Value[]> {
  const known = cache.get(table);
  if (known !== undefined) return known;
  const index = new Map<string, Value[]>();
  for (const value of table.values()) {
    for (const key of keysOf(value)) {
      const values = index.get(key);
      if (values === undefined) index.set(key, [value]);
      else values.push(value);
    }
  }
  cache.set(table, index);
  return index;
}
