import { expect, test } from "vitest";
import { JointRuns } from "./joint-runs.ts";

/** Runs that end when the test says so. */
function controlled(limits: ConstructorParameters<typeof JointRuns>[0]) {
  const runs = new JointRuns<string, string>(limits);
  const started: (readonly string[])[] = [];
  const ends: (() => void)[] = [];
  const perform = async (items: readonly string[]) => {
    started.push(items);
    await new Promise<void>((resolve) => ends.push(resolve));
    return items.map((item) =>
      item.startsWith("bad") ? Promise.reject(new Error(item)) : Promise.resolve(`${item} done`),
    );
  };
  return {
    started,
    run: (item: string, size = 1, key = "tenant") => runs.run(key, item, size, perform),
    end: async () => {
      ends.shift()?.();
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

const limits = { items: 3, size: 10, waitMs: 60_000 };

test("a single item runs at once, and items that arrive meanwhile run together", async () => {
  const { run, end, started } = controlled(limits);
  const results = [run("a"), run("b"), run("c")];
  expect(started).toEqual([["a"]]);
  await end();
  expect(started).toEqual([["a"], ["b", "c"]]);
  await end();
  expect(await Promise.all(results)).toEqual(["a done", "b done", "c done"]);
  const later = run("d");
  expect(started.at(-1)).toEqual(["d"]);
  await end();
  expect(await later).toBe("d done");
});

test("a run has a limited number of items, and a limited size", async () => {
  const { run, end, started } = controlled(limits);
  const results = [
    run("a"),
    ...["b", "c", "d", "e"].map((item) => run(item)),
    run("f", 9),
    run("g", 2),
    run("h", 50),
    run("i"),
  ];
  for (let round = 0; round < 6; round += 1) await end();
  expect(started).toEqual([["a"], ["b", "c", "d"], ["e", "f"], ["g"], ["h"], ["i"]]);
  await Promise.all(results);
});

test("keys do not wait for each other, and an error belongs to its item", async () => {
  const { run, end, started } = controlled(limits);
  const results = Promise.allSettled([run("bad a"), run("b"), run("bad c"), run("d", 1, "other")]);
  expect(started).toEqual([["bad a"], ["d"]]);
  for (let round = 0; round < 3; round += 1) await end();
  expect(started).toEqual([["bad a"], ["d"], ["b", "bad c"]]);
  expect((await results).map(({ status }) => status)).toEqual(["rejected", "fulfilled", "rejected", "fulfilled"]);
});

test("an item does not wait for a run that takes longer than the limit", async () => {
  const { run, end, started } = controlled({ ...limits, waitMs: 1 });
  const results = [run("a"), run("b")];
  while (started.length < 2) await new Promise((resolve) => setImmediate(resolve));
  results.push(run("c"));
  expect(started).toEqual([["a"], ["b"], ["c"]]);
  for (let round = 0; round < 3; round += 1) await end();
  expect(await Promise.all(results)).toEqual(["a done", "b done", "c done"]);
});
