import type { CompiledDevice } from "./compiled-device.ts";
import type { CompiledUser } from "./compiled-user.ts";
import type { Table } from "./table.ts";

const memberships = new WeakMap<Table<CompiledUser>, ReadonlyMap<string, readonly CompiledUser[]>>();
const possessions = new WeakMap<Table<CompiledDevice>, ReadonlyMap<string, readonly CompiledDevice[]>>();

/** The users in each group, by its id; made when first asked for, and kept as long as these users are. */
export function usersByGroup(users: Table<CompiledUser>): ReadonlyMap<string, readonly CompiledUser[]> {
  return kept(memberships, users, (user) => [...new Set(user.facts.groups)]);
}

/** The devices of each user, by the user's id; made when first asked for, and kept as long as these devices are. */
export function devicesByUser(devices: Table<CompiledDevice>): ReadonlyMap<string, readonly CompiledDevice[]> {
  return kept(possessions, devices, ({ userId }) => (userId === null ? [] : [userId]));
}

/** For fewer users than this, devices are looked through rather than indexed. */
const fewUsers = 50;

/** The devices of some users, by the user's id. @param userIds undefined: all */
export function devicesOfUsers(
  devices: Table<CompiledDevice>,
  userIds: ReadonlySet<string> | undefined,
): ReadonlyMap<string, readonly CompiledDevice[]> {
  const known = possessions.get(devices);
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

function kept<Value>(
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
