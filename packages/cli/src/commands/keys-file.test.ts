import { appendFile, chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { KeysFile, publicUrlPlaceholder } from "./keys-file.ts";

const publicUrl = "https://gatehouse.example.com";
let folder: string;
let file: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "gatehouse-keys-file-"));
  file = path.join(folder, "first-keys");
});
afterEach(() => rm(folder, { recursive: true, force: true }));

test("the file appears when it is complete, and only its user can read it", async () => {
  const keys = new KeysFile(file);
  keys.append(["key", `${publicUrlPlaceholder}/link`]);
  await expect(stat(file)).rejects.toThrow("ENOENT");
  expect(keys.complete(publicUrl, ["address"])).toBe(true);
  expect(await readFile(file, "utf8")).toBe(`key\n${publicUrl}/link\naddress\n`);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(await readdir(folder)).toEqual(["first-keys"]);
});

test("the next start shows the keys and links of an interrupted one", async () => {
  new KeysFile(file).append(["key", `${publicUrlPlaceholder}/link`]);
  expect(new KeysFile(file).complete(publicUrl, ["address"])).toBe(true);
  expect(await readFile(file, "utf8")).toBe(`key\n${publicUrl}/link\naddress\n`);
  expect(new KeysFile(file).complete(publicUrl, ["address"])).toBe(false);
});

test("an existing file keeps its content", async () => {
  for (const line of ["one", "two"]) {
    const keys = new KeysFile(file);
    keys.append([line]);
    keys.complete(publicUrl, []);
  }
  expect(await readFile(file, "utf8")).toBe("one\ntwo\n");
  expect(await readdir(folder)).toEqual(["first-keys"]);
});

test("an existing file that others can read becomes private", async () => {
  await writeFile(file, "one\n");
  await chmod(file, 0o644);
  const keys = new KeysFile(file);
  keys.append(["two"]);
  keys.complete(publicUrl, []);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
});

test("keys are not repeated after a start that ended before it removed the unfinished file", async () => {
  const keys = new KeysFile(file);
  keys.append(["key"]);
  await appendFile(file, "key\naddress\n");
  expect(keys.complete(publicUrl, ["address"])).toBe(true);
  expect(await readFile(file, "utf8")).toBe("key\naddress\n");
  expect(await readdir(folder)).toEqual(["first-keys"]);
});
