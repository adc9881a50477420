import { chmod, chown, mkdir, mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { RuntimeFolder } from "./runtime-folder.ts";

let root: string;
let folder: string;
beforeEach(async () => {
  root = await mkdtemp(path.join(tmpdir(), "gatehouse-runtime-"));
  folder = path.join(root, "gatehouse-gateway", "gh0");
});
afterEach(() => rm(root, { recursive: true, force: true }));

test("only its owner can use a new folder", async () => {
  const runtime = new RuntimeFolder(folder);
  await runtime.open();
  for (const each of [folder, path.dirname(folder)]) expect((await stat(each)).mode & 0o777).toBe(0o700);
  runtime.close();
});

test("one agent uses a folder at a time", async () => {
  const first = new RuntimeFolder(folder);
  const second = new RuntimeFolder(folder);
  await first.open();
  await first.open();
  await expect(second.open()).rejects.toThrow(`Another agent runs with the runtime folder ${folder}`);
  first.close();
  await second.open();
  second.close();
});

test("a deleted folder is created again", async () => {
  const runtime = new RuntimeFolder(folder);
  await runtime.open();
  await rm(folder, { recursive: true });
  await runtime.open();
  expect((await stat(folder)).isDirectory()).toBe(true);
  runtime.close();
});

test("a folder that is created again is locked again", async () => {
  const first = new RuntimeFolder(folder);
  await first.open();
  await rm(folder, { recursive: true });
  await first.open();
  const second = new RuntimeFolder(folder);
  await expect(second.open()).rejects.toThrow("Another agent runs");
  first.close();
  await second.open();
  second.close();
});

test("a folder that another agent uses can be read", async () => {
  const first = new RuntimeFolder(folder);
  await first.open();
  await new RuntimeFolder(folder).check();
  await expect(new RuntimeFolder(folder).open()).rejects.toThrow("Another agent runs");
  first.close();
});

test("a folder that others can write to is refused, and need not be deleted", async () => {
  await mkdir(folder, { recursive: true });
  await chmod(folder, 0o770);
  const text = `Other users can write to the runtime folder ${folder} (mode 0770). Remove the permission: chmod go-w ${folder}`;
  await expect(new RuntimeFolder(folder).open()).rejects.toThrow(text);
});

test.skipIf(process.getuid?.() !== 0)("a folder of another user is refused", async () => {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await chown(folder, 65_534, 65_534);
  await expect(new RuntimeFolder(folder).open()).rejects.toThrow(/belongs to another user \(65534\). Delete it./);
});

test("a file in place of the folder is an error", async () => {
  await mkdir(path.dirname(folder), { recursive: true });
  await writeFile(folder, "");
  await expect(new RuntimeFolder(folder).open()).rejects.toThrow("EEXIST");
});
