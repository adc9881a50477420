import { expect, test } from "vitest";
import { TestClock } from "../../testing/test-clock.ts";
import { WindowCounts } from "./window-counts.ts";

const windowMs = 60_000;

function counts(options: { capacity?: number; shared?: boolean; clock?: TestClock } = {}) {
  const { clock = new TestClock(), shared = false, ...rest } = options;
  return new WindowCounts({ windowMs, clock, shared, ...rest });
}

test("counts each name for itself", () => {
  const kept = counts();
  expect(
    [kept.add("a"), kept.add("a"), kept.add("b"), kept.read("a"), kept.read("c")].map(({ count }) => count),
  ).toEqual([1, 2, 1, 2, 0]);
});

test("starts anew when the window ends, and says when that is", () => {
  const clock = new TestClock();
  const kept = counts({ clock });
  const { endsInMs } = kept.add("a");
  expect(endsInMs).toBe(windowMs - (clock.now().getTime() % windowMs));
  clock.advance(endsInMs - 1);
  expect(kept.add("a")).toEqual({ count: 2, endsInMs: 1 });
  clock.advance(1);
  expect(kept.read("a")).toEqual({ count: 0, endsInMs: windowMs });
  expect(kept.add("a")).toEqual({ count: 1, endsInMs: windowMs });
});

test("forgets the name that has been counted for longest when there are too many", () => {
  const kept = counts({ capacity: 3 });
  for (const name of ["a", "b", "c", "a", "d"]) kept.add(name);
  expect(kept.size).toBe(3);
  expect(["a", "b", "c", "d"].map((name) => kept.read(name).count)).toEqual([0, 1, 1, 1]);
  for (let index = 0; index < 1_000; index += 1) kept.add(`name ${index}`);
  expect(kept.size).toBe(3);
});

test("adds what others have told to what it counted since", () => {
  const kept = counts({ shared: true });
  kept.add("a");
  kept.add("a");
  const [told] = kept.takeUntold();
  expect(told).toMatchObject({ name: "a", count: 2 });
  kept.add("a");
  kept.learn([{ name: "a", windowStartMs: told?.windowStartMs ?? 0, count: 10 }]);
  expect(kept.read("a").count).toBe(11);
  expect(kept.takeUntold()).toMatchObject([{ name: "a", count: 1 }]);
  expect(kept.takeUntold()).toEqual([]);
});

test("keeps what could not be told, unless its window is over", () => {
  const clock = new TestClock();
  const kept = counts({ shared: true, clock });
  kept.add("a");
  kept.keepUntold(kept.takeUntold());
  kept.add("a");
  const taken = kept.takeUntold();
  expect(taken).toMatchObject([{ name: "a", count: 2 }]);
  clock.advance(windowMs);
  kept.add("a");
  kept.keepUntold(taken);
  kept.learn(taken.map((told) => ({ ...told, count: 100 })));
  expect(kept.read("a").count).toBe(1);
  expect(kept.takeUntold()).toMatchObject([{ name: "a", count: 1 }]);
});

test("has nothing to tell where counts are not shared", () => {
  const kept = counts();
  kept.add("a");
  expect(kept.takeUntold()).toEqual([]);
});
