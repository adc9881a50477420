import type { RuleContext } from "./evaluate-rule.ts";

/** Upper bounds of the sizes of the records that a rule reads, for the cost estimate. */
export interface RecordSizes {
  /** Characters of a field or attribute. */
  readonly text: number;
  readonly groups: number;
  readonly groupName: number;
  readonly postureEntries: number;
}

/** The largest records that can be stored. */
export const largestRecords: RecordSizes = { text: 1024, groups: 256, groupName: 120, postureEntries: 64 };

/** Sizes are rounded up to powers of two, so that few estimates of a rule are needed. */
const bits = 5;
const mask = (1 << bits) - 1;

/** The exponents of all sizes in one number. */
export type SizeKey = number;

const cachedKeys = new WeakMap<object, SizeKey>();

/** The sizes of the records in a context. */
export function sizeKeyOf({ user, device, session, resource }: RuleContext): SizeKey {
  const ofDevice = largerKey(keyOfRecord(device), keyOfRecord(session));
  return largerKey(keyOfRecord(user), largerKey(ofDevice, keyOfRecord(resource)));
}

export function sizesOfKey(key: SizeKey): RecordSizes {
  const sizeAt = (place: number) => 2 ** ((key >>> (place * bits)) & mask);
  return { text: sizeAt(0), groups: sizeAt(1), groupName: sizeAt(2), postureEntries: sizeAt(3) };
}

function keyOfRecord(record: object | undefined): SizeKey {
  if (record === undefined) return 0;
  const known = cachedKeys.get(record);
  if (known !== undefined) return known;
  // The variable `user` is a map, because attributes can have any name.
  const key = keyOfValues(record instanceof Map ? record.values() : Object.values(record));
  cachedKeys.set(record, key);
  return key;
}

function keyOfValues(values: Iterable<unknown>): SizeKey {
  // Addresses and countries, which are not cached, are shorter.
  let text = 32;
  let groups = 1;
  let groupName = 1;
  let postureEntries = 1;
  for (const value of values) {
    if (typeof value === "string") text = Math.max(text, value.length);
    else if (Array.isArray(value)) {
      groups = Math.max(groups, value.length);
      for (const name of value) if (typeof name === "string") groupName = Math.max(groupName, name.length);
    } else if (value instanceof Map) {
      postureEntries = Math.max(postureEntries, value.size);
      for (const entry of value.values()) if (typeof entry === "string") text = Math.max(text, entry.length);
    }
  }
  return [text, groups, groupName, postureEntries].reduce(
    (key, size, place) => key | (Math.min(mask, Math.ceil(Math.log2(size))) << (place * bits)),
    0,
  );
}

function largerKey(one: SizeKey, other: SizeKey): SizeKey {
  if (one === other || other === 0) return one;
  let larger = 0;
  for (let place = 0; place < 4; place += 1) {
    const field = mask << (place * bits);
    larger |= Math.max(one & field, other & field);
  }
  return larger;
}
