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

test("a folder that others can write to is refused", async () => {
  await mkdir(folder, { recursive: true });
  await chmod(folder, 0o770);
  await expect(new RuntimeFolder(folder).open()).rejects.toThrow(/Other users can write .* \(mode 0770/);
});

test.skipIf(process.getuid?.() !== 0)("a folder of another user is refused", async () => {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await chown(folder, 65_534, 65_534);
  await expect(new RuntimeFolder(folder).open()).rejects.toThrow(/Other users can write .* owner 65534/);
});

test("a file in place of the folder is an error", async () => {
  await mkdir(path.dirname(folder), { recursive: true });
  await writeFile(folder, "");
  await expect(new RuntimeFolder(folder).open()).rejects.toThrow("EEXIST");
});
