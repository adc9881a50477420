import { expect, test } from "vitest";
import { createServerLog, type LogEvent, levelOf } from "./server-log.ts";

test.each([
  ["postmaster: LOG:  database system is ready to accept connections", "debug"],
  ["client backend: ERROR:  duplicate key value violates unique constraint", "debug"],
  ["client backend: PANIC:  could not write to file: No space left on device", "error"],
  ["checkpointer: ERROR:  could not fsync file", "warn"],
  ["autovacuum worker: FATAL:  terminating autovacuum process due to administrator command", "debug"],
  ["startup: FATAL:  could not locate a valid checkpoint record", "error"],
  ['FATAL:  invalid value for parameter "shared_buffers": "much"', "error"],
  ["error while loading shared libraries: libz.so.1", "warn"],
] as const)("%s → %s", (line, level) => {
  expect(levelOf(line)).toBe(level);
});

test("lines are complete regardless of how the output is split, and the last ones are retained", () => {
  const events: LogEvent[] = [];
  const log = createServerLog((event) => events.push(event));
  log.write("postmaster: LOG:  sta");
  log.write("rting\npostmaster: LOG:  rea");
  expect(events).toEqual([{ level: "debug", message: "postgres: postmaster: LOG:  starting" }]);
  for (let line = 0; line < 100; line += 1) log.write(`line ${line}\n`);
  expect(log.tail().split("\n")).toHaveLength(20);
  expect(log.tail().endsWith("line 99")).toBe(true);
});

test("a line without an end does not grow without bound", () => {
  const log = createServerLog(() => {});
  for (let piece = 0; piece < 100; piece += 1) log.write("x".repeat(1_000));
  expect(log.tail().length).toBeLessThanOrEqual(2_000);
});
