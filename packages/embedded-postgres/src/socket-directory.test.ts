import { chmod, mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { chooseSocketDirectory, fitsSocketPath, makeSocketDirectory } from "./socket-directory.ts";

const name = ".s.PGSQL.5432";
const long = `/${"d".repeat(100)}`;
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "gatehouse-socket-"));
});

afterEach(() => rm(folder, { recursive: true, force: true }));

test("the socket is in the data folder if its path fits", () => {
  expect(chooseSocketDirectory("/srv/gatehouse", "socket", name)).toBe("/srv/gatehouse/socket");
});

test("a path over the limit moves to a short folder, which is stable for each data folder", () => {
  const short = chooseSocketDirectory(long, "socket", name, ["/tmp"]);
  expect(short).toMatch(/^\/tmp\/gatehouse-[0-9a-f]{16}$/);
  expect(chooseSocketDirectory(long, "socket", name, ["/tmp"])).toBe(short);
  expect(chooseSocketDirectory(`${long}e`, "socket", name, ["/tmp"])).not.toBe(short);
});

test("a temporary folder with a long path is skipped, and the remedy mentions it if none is short", () => {
  expect(chooseSocketDirectory(long, "socket", name, [long, "/tmp"])).toMatch(/^\/tmp\//);
  expect(() => chooseSocketDirectory(long, "socket", name, [long])).toThrow("short enough");
});

test("the limit counts bytes, not characters", () => {
  expect(fitsSocketPath(`/${"d".repeat(60)}`)).toBe(true);
  expect(fitsSocketPath(`/${"ü".repeat(60)}`)).toBe(false);
});

test("a folder that others can access is closed to them", async () => {
  const directory = join(folder, "socket");
  await makeSocketDirectory(directory, undefined);
  await chmod(directory, 0o777);
  await makeSocketDirectory(directory, undefined);
  expect((await stat(directory)).mode & 0o777).toBe(0o700);
});

test("a different file in its place is refused", async () => {
  const directory = join(folder, "socket");
  await writeFile(directory, "");
  await expect(makeSocketDirectory(directory, undefined)).rejects.toThrow("is not a folder");
});
