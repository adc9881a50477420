import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createLog } from "../log.ts";
import { readOrCreateMasterKey } from "./master-key-file.ts";

const log = createLog("silent");
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "gatehouse-test-"));
});

afterEach(() => rm(folder, { recursive: true }));

test("a new data folder gets a key that only its owner can read", async () => {
  const created = await readOrCreateMasterKey(folder, log);
  expect(created).toMatchObject({ created: true, path: join(folder, "master-key") });
  expect(created.key).toHaveLength(32);
  expect((await stat(created.path)).mode & 0o777).toBe(0o600);
  expect(await readdir(folder)).toEqual(["master-key"]);
});

test("the key then stays the same", async () => {
  const { key } = await readOrCreateMasterKey(folder, log);
  expect(await readOrCreateMasterKey(folder, log)).toMatchObject({ key, created: false });
});

test("a file without a key is rejected and left unchanged", async () => {
  const path = join(folder, "master-key");
  await writeFile(path, "c2VjcmV0");
  await expect(readOrCreateMasterKey(folder, log)).rejects.toThrow(
    expect.objectContaining({
      message: expect.stringMatching(/master-key does not contain 32 bytes in base64\.$/),
      remedy: expect.stringContaining("backup"),
    }),
  );
  expect(await readFile(path, "utf8")).toBe("c2VjcmV0");
});

test("a warning is logged for a key that other users can read", async () => {
  const { path } = await readOrCreateMasterKey(folder, log);
  await chmod(path, 0o644);
  const warn = vi.spyOn(log, "warn");
  await readOrCreateMasterKey(folder, log);
  expect(warn).toHaveBeenCalledWith({ path }, expect.stringContaining("chmod 600"));
});
