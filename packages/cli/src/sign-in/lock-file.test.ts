import { spawnSync } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { lockFile } from "./lock-file.ts";

const minuteMs = 60_000;
let folder: string;
let path: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "gatehouse-lock-"));
  path = join(folder, "credentials.json.lock");
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** Leaves the lock of a process. */
async function leave(text: string, ageMs: number): Promise<void> {
  await writeFile(path, text);
  const at = new Date(Date.now() - ageMs);
  await utimes(path, at, at);
}

const ended = () => `${spawnSync("true").pid} ${hostname()}`;

test.each([
  ["a process that was killed", () => `killed ${ended()}`, 2 * minuteMs],
  ["a process that was killed while the clock was ahead", () => `killed ${ended()}`, -300 * minuteMs],
  ["an earlier process with the same PID", () => `killed ${process.pid} ${hostname()}`, 2 * minuteMs],
  ["another machine", () => "remote 1 other.example.com", 2 * minuteMs],
  ["an earlier version", () => "", 2 * minuteMs],
])("the lock of %s is taken over", async (_whose, text, ageMs) => {
  await leave(text(), ageMs);
  const release = await lockFile(path, 10 * minuteMs);
  await release();
  expect(await readdir(folder)).toEqual([]);
});

test.each([
  ["a process that runs, which may have slept", `running ${process.ppid} ${hostname()}`, 300 * minuteMs],
  ["a process that has just ended", `killed ${ended()}`, 0],
  ["a process that has just created it", "", 0],
])("waiting for the lock of %s ends after the timeout", async (_whose, text, ageMs) => {
  await leave(text, ageMs);
  await expect(lockFile(path, 0)).rejects.toThrow(`Another process holds ${path}.`);
  expect(await readFile(path, "utf8")).toBe(text);
});

test("a lock whose PID was reused is taken over after a while", async () => {
  await leave(`killed ${process.ppid} ${hostname()}`, 2 * minuteMs);
  await (await lockFile(path, 10 * minuteMs, 0))();
  expect(await readdir(folder)).toEqual([]);
});

test("an abandoned lock is taken over after a process was killed while it removed the lock", async () => {
  await leave(`killed ${ended()}`, 2 * minuteMs);
  const removal = `${path}.killed`;
  await writeFile(removal, "");
  const at = new Date(Date.now() - 2 * minuteMs);
  await utimes(removal, at, at);
  await (await lockFile(path, minuteMs / 6))();
  expect(await readdir(folder)).toEqual([]);
});

test("a process keeps its own lock", async () => {
  const release = await lockFile(path, 0);
  const at = new Date(Date.now() - 300 * minuteMs);
  await utimes(path, at, at);
  await expect(lockFile(path, 0)).rejects.toThrow(`Another process holds ${path}.`);
  await release();
  expect(await readdir(folder)).toEqual([]);
});

test("only one of many processes at a time takes over an abandoned lock", async () => {
  await leave(`killed ${ended()}`, 2 * minuteMs);
  let [holders, most] = [0, 0];
  const turns = Array.from({ length: 10 }, async () => {
    const release = await lockFile(path, 10 * minuteMs);
    holders += 1;
    most = Math.max(most, holders);
    await readdir(folder);
    holders -= 1;
    await release();
  });
  await Promise.all(turns);
  expect(most).toBe(1);
  expect(await readdir(folder)).toEqual([]);
});

test("a process releases only its own lock", async () => {
  const release = await lockFile(path, 0);
  await leave("other 1 other.example.com", 0);
  await release();
  expect(await readFile(path, "utf8")).toBe("other 1 other.example.com");
});
