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
