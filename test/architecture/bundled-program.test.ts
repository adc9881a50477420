import { mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { importBundled } from "../bundled-program.mjs";

let folder: string;
let cache: URL;
let module: URL;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "gatehouse-bundled-program-"));
  cache = pathToFileURL(`${path.join(folder, "cache")}/`);
  module = pathToFileURL(path.join(folder, "program.ts"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** The folder with all versions of the program. */
async function versionsFolder(): Promise<URL> {
  const [name] = await readdir(cache);
  return new URL(`${name}/`, cache);
}

async function listed(): Promise<{ version: string; inputs: Record<string, string> }> {
  return JSON.parse(await readFile(new URL("inputs.json", await versionsFolder()), "utf8"));
}

test("a module that changes while it is bundled is bundled again", async () => {
  await writeFile(module, "export const value: number = 1;");
  const changeModule = { name: "change-module", buildEnd: () => writeFile(module, "export const value: number = 22;") };
  expect(await importBundled(module, { cache, plugins: [changeModule] })).toMatchObject({ value: 1 });
  expect(await importBundled(module, { cache })).toMatchObject({ value: 22 });
  const { version } = await listed();
  expect(await importBundled(module, { cache })).toMatchObject({ value: 22 });
  expect((await listed()).version).toBe(version);
});

test("the manifests of packages are inputs", async () => {
  await writeFile(module, "export const value: number = 1;");
  await importBundled(module, { cache });
  const inputs = Object.keys((await listed()).inputs);
  expect(inputs.some((file) => file.endsWith("packages/policy/package.json"))).toBe(true);
});

test("a version stays for a day after its replacement, however old it is", async () => {
  await writeFile(module, "export const value: number = 1;");
  await importBundled(module, { cache });
  const versions = await versionsFolder();
  const old = new Date(Date.now() - 48 * 3_600_000);
  const { inputs } = await listed();
  const running = `${old.getTime()}-1`;
  const replaced = `${old.getTime()}-2`;
  for (const version of [running, replaced]) {
    await mkdir(new URL(version, versions));
    await utimes(new URL(version, versions), old, old);
  }
  await writeFile(new URL("inputs.json", versions), JSON.stringify({ version: running, inputs }));
  await writeFile(module, "export const value: number = 22;");
  await importBundled(module, { cache });
  const names = await readdir(versions);
  expect(names).toContain(running);
  expect(names).not.toContain(replaced);
});
