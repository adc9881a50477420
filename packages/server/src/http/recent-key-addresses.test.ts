import { expect, test } from "vitest";
import { TestClock } from "../testing/test-clock.ts";
import type { Caller } from "./caller.ts";
import { RecentKeyAddresses } from "./recent-key-addresses.ts";

const minuteMs = 60_000;
const same = (address: string) => address;
const caller = (): Caller => ({
  actor: { type: "operator", name: "Operator" },
  permissions: new Set(),
  limits: undefined,
  tenantId: undefined,
});

test("a key is known at the address that accepted it, for an hour after the last recording, and at no other address", () => {
  const clock = new TestClock();
  const keys = new RecentKeyAddresses(clock);
  const known = caller();
  keys.note(known, "key", "192.0.2.1", same);
  expect([keys.knows("key", "192.0.2.1"), keys.knows("key", "192.0.2.2"), keys.knows("other", "192.0.2.1")]).toEqual([
    true,
    false,
    false,
  ]);
  clock.advance(59 * minuteMs);
  keys.note(known, "key", "192.0.2.1", same);
  clock.advance(59 * minuteMs);
  expect(keys.knows("key", "192.0.2.1")).toBe(true);
  clock.advance(minuteMs);
  expect(keys.knows("key", "192.0.2.1")).toBe(false);
});

test("a key that moves between addresses is known at each of them", () => {
  const keys = new RecentKeyAddresses(new TestClock());
  const known = caller();
  for (const address of ["192.0.2.1", "192.0.2.2", "192.0.2.1"]) keys.note(known, "key", address, same);
  expect([keys.knows("key", "192.0.2.1"), keys.knows("key", "192.0.2.2")]).toEqual([true, true]);
  keys.forget("key", "192.0.2.1");
  expect([keys.knows("key", "192.0.2.1"), keys.knows("key", "192.0.2.2")]).toEqual([false, true]);
});

test("20,000 pairs are remembered, and the oldest is evicted first", () => {
  const keys = new RecentKeyAddresses(new TestClock());
  for (let index = 0; index <= 20_000; index += 1) keys.note(caller(), `key ${index}`, "192.0.2.1", same);
  expect(["key 0", "key 1", "key 20000"].map((key) => keys.knows(key, "192.0.2.1"))).toEqual([false, true, true]);
});
