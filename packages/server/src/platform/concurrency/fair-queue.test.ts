import type { Work } from "@gatehouse/policy/work";
import { beforeEach, expect, test } from "vitest";
import { type EventLoop, FairQueue } from "./fair-queue.ts";

/** An event loop whose time passes only through work and pauses. */
class FakeLoop implements EventLoop {
  now = 0;
  active = 0;
  readonly pauses: number[] = [];
  readonly #callbacks: (() => void)[] = [];
  /** The activity of others during each pause. */
  othersMs = 0;

  nowMs = () => this.now;
  activeMs = () => this.active;
  afterEvents = (callback: () => void) => this.after(0, callback);
  after = (ms: number, callback: () => void) => {
    this.#callbacks.push(() => {
      this.pauses.push(ms);
      this.now += ms;
      this.active += this.othersMs;
      callback();
    });
  };

  /** Runs one callback. */
  turn(): boolean {
    const callback = this.#callbacks.shift();
    callback?.();
    return callback !== undefined;
  }

  finish(): void {
    while (this.turn());
  }
}

let loop: FakeLoop;
let queue: FairQueue;
let steps: string[];

beforeEach(() => {
  loop = new FakeLoop();
  queue = new FairQueue(loop);
  steps = [];
});

const unitMs = 20e-6;

/** Work of several steps. Each step takes the time of its units. */
function* work(name: string, count: number, units = 5_000): Work<string> {
  for (let step = 0; step < count; step += 1) {
    steps.push(name);
    loop.now += units * unitMs;
    loop.active += units * unitMs;
    yield units;
  }
  return name;
}

/** The longest time for which the queue blocks the event loop, in milliseconds. */
function longestBlock(): number {
  let longest = 0;
  for (;;) {
    const before = loop.now;
    const pauses = loop.pauses.length;
    if (!loop.turn()) return longest;
    const paused = loop.pauses.slice(pauses).reduce((sum, ms) => sum + ms, 0);
    longest = Math.max(longest, loop.now - before - paused);
  }
}

test("finishes small work at once", async () => {
  const result = queue.run("a", work("small", 2));
  expect(steps).toEqual(["small", "small"]);
  expect(await result).toBe("small");
  expect(queue.waiting).toBe(0);
});

test("defers small work if other work used the current round of the event loop", () => {
  for (let index = 0; index < 100; index += 1) void queue.run(`tenant ${index}`, work(`work ${index}`, 5));
  // 1 ms at 0.1 ms a step.
  expect(steps.length).toBeLessThanOrEqual(12);
  expect(queue.waiting).toBeGreaterThan(80);
  loop.finish();
  expect(steps).toHaveLength(500);
});

test("blocks the event loop for a slice at most", async () => {
  const results = ["a", "b", "c"].map((tenant) => queue.run(tenant, work(tenant, 2_000)));
  expect(longestBlock()).toBeLessThanOrEqual(2.2);
  expect(await Promise.all(results)).toEqual(["a", "b", "c"]);
});

test("tenants take turns, and so does the work of one tenant", async () => {
  const first = queue.run("a", work("a1", 400));
  const others = [queue.run("a", work("a2", 400)), queue.run("b", work("b", 400))];
  await Promise.all([first, ...others, Promise.resolve(loop.finish())]);
  // Tenant b gets half of the shared time, and each work of tenant a gets a quarter.
  const end = steps.lastIndexOf("b");
  const shared = steps.slice(steps.indexOf("b"), end);
  const count = (name: string) => shared.filter((step) => step === name).length / shared.length;
  expect(count("b")).toBeCloseTo(1 / 2, 1);
  expect(count("a1")).toBeCloseTo(1 / 4, 1);
  expect(count("a2")).toBeCloseTo(1 / 4, 1);
});

test("late work of a tenant leaves most turns to other work of the tenant, but always continues", async () => {
  const late = queue.runLate("a", work("late", 4_000));
  const other = queue.run("a", work("other", 4_000));
  await Promise.all([late, other, Promise.resolve(loop.finish())]);
  const shared = steps.slice(steps.indexOf("other"), steps.lastIndexOf("other"));
  expect(shared.filter((step) => step === "late").length / shared.length).toBeCloseTo(1 / 10, 1);
});

test("small work of one tenant does not wait for expensive work of another", async () => {
  void queue.run("expensive", work("expensive", 10_000));
  loop.turn();
  const before = steps.length;
  const small = queue.run("small", work("small", 1));
  loop.turn();
  expect(await small).toBe("small");
  expect(steps.slice(before).length).toBeLessThanOrEqual(21);
});

test("leaves others twice its own time, if they need it", () => {
  loop.othersMs = 1;
  void queue.run("a", work("a", 1_000));
  loop.finish();
  // The activity of others is known after the first pause.
  for (const pause of loop.pauses.slice(3)) expect(pause).toBeGreaterThanOrEqual(2);
});

test("after a single activity of others, pauses only a few times", () => {
  loop.othersMs = 1;
  void queue.run("a", work("a", 2_000));
  loop.turn();
  loop.othersMs = 0;
  loop.finish();
  const pauses = loop.pauses.filter((ms) => ms > 0).length;
  expect(pauses).toBeGreaterThan(0);
  expect(pauses).toBeLessThanOrEqual(3);
});

test("does not pause while nothing else runs", () => {
  void queue.run("a", work("a", 1_000));
  loop.finish();
  expect(new Set(loop.pauses)).toEqual(new Set([0]));
});

test("counts every unit, and ends work that its limits refuse", async () => {
  let spent = 0;
  const refused = queue.run("a", work("a", 1_000, 700), {
    spend: (units) => {
      spent += units;
      if (spent > 7_000) throw new Error("too much");
    },
  });
  const rejection = expect(refused).rejects.toThrow("too much");
  loop.finish();
  await rejection;
  expect(steps).toHaveLength(11);
  expect(queue.waiting).toBe(0);
});

test("stops work after a number of units, and continues it", async () => {
  const parts = work("a", 10, 1_000);
  expect(await queue.runUpTo("a", parts, 4_000)).toEqual({ stopped: true });
  expect(steps).toHaveLength(4);
  const rest = queue.runUpTo("a", parts, 1_000_000);
  loop.finish();
  expect(await rest).toEqual({ result: "a" });
  expect(steps).toHaveLength(10);
});

test("a failing work does not stop others", async () => {
  const failing = queue.run(
    "a",
    (function* (): Work<string> {
      yield 1;
      throw new Error("broken");
    })(),
  );
  const other = queue.run("b", work("b", 300));
  const rejection = expect(failing).rejects.toThrow("broken");
  loop.finish();
  await rejection;
  expect(await other).toBe("b");
});

test("does not pause for the activity of a tenant that is alone", () => {
  queue = new FairQueue(loop, { charge: () => undefined, isAlone: (tenantId) => tenantId === "a" });
  loop.othersMs = 1;
  void queue.run("a", work("a", 1_000));
  loop.finish();
  expect(loop.pauses.every((ms) => ms === 0)).toBe(true);
});
