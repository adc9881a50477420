import { expect, test } from "vitest";
import { createLog } from "../platform/log.ts";
import { until } from "../testing/until.ts";
import { Reconciler } from "./reconciler.ts";

const log = createLog("silent");
const never = 1_000_000;

test("runs soon after a wake, once for many of them", async () => {
  let runs = 0;
  const run = async () => {
    runs += 1;
  };
  const reconciler = new Reconciler({ name: "test", intervalMs: never, log, run });
  reconciler.start();
  for (let call = 0; call < 10; call += 1) reconciler.wake();
  await until("it has run", () => runs > 0);
  await reconciler.stop();
  expect(runs).toBe(1);
});

test("runs once more after a wake during a run", async () => {
  let runs = 0;
  const reconciler: Reconciler = new Reconciler({
    name: "test",
    intervalMs: never,
    log,
    run: async () => {
      runs += 1;
      if (runs === 1) for (let call = 0; call < 10; call += 1) reconciler.wake();
    },
  });
  reconciler.start();
  reconciler.wake();
  await until("it has run again", () => runs === 2);
  await reconciler.stop();
  expect(runs).toBe(2);
});

test("reports a run that fails, and runs again", async () => {
  let runs = 0;
  const failures: string[] = [];
  const failed = (name: string) => failures.push(name);
  const run = async () => {
    runs += 1;
    throw new Error("no");
  };
  const reconciler = new Reconciler({ name: "test", intervalMs: 1, log, run, failed });
  reconciler.start();
  await until("it has run twice", () => runs >= 2);
  expect(failures.slice(0, 1)).toEqual(["test"]);
  await reconciler.stop();
  reconciler.wake();
});
