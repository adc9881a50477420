import { expect, test } from "vitest";
import { TestClock } from "../testing/test-clock.ts";
import { AcquaintedKeys } from "./acquainted-keys.ts";
import type { Caller } from "./caller.ts";

const minuteMs = 60_000;
const same = (address: string) => address;
const caller = (): Caller => ({
  actor: { type: "operator", name: "Operator" },
  permissions: new Set(),
  limits: undefined,
  tenantId: undefined,
});

test("a key is known where it was accepted, for an hour after it was last noted, and nowhere else", () => {
  const clock = new TestClock();
  const keys = new AcquaintedKeys(clock);
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

test("a key that moves between addresses is known at each", () => {
  const keys = new AcquaintedKeys(new TestClock());
  const known = caller();
  for (const address of ["192.0.2.1", "192.0.2.2", "192.0.2.1"]) keys.note(known, "key", address, same);
  expect([keys.knows("key", "192.0.2.1"), keys.knows("key", "192.0.2.2")]).toEqual([true, true]);
  keys.forget("key", "192.0.2.1");
  expect([keys.knows("key", "192.0.2.1"), keys.knows("key", "192.0.2.2")]).toEqual([false, true]);
});

test("20,000 pairs are remembered, and the one noted longest ago goes first", () => {
  const keys = new AcquaintedKeys(new TestClock());
  for (let index = 0; index <= 20_000; index += 1) keys.note(caller(), `key ${index}`, "192.0.2.1", same);
  expect(["key 0", "key 1", "key 20000"].map((key) => keys.knows(key, "192.0.2.1"))).toEqual([false, true, true]);
});
