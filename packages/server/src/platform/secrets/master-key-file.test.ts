import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createLog } from "../log.ts";
import { readOrMakeMasterKey } from "./master-key-file.ts";

const log = createLog("silent");
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "gatehouse-test-"));
});

afterEach(() => rm(folder, { recursive: true }));

test("a new data folder gets a key that only its owner can read", async () => {
  const made = await readOrMakeMasterKey(folder, log);
  expect(made).toMatchObject({ made: true, path: join(folder, "master-key") });
  expect(made.key).toHaveLength(32);
  expect((await stat(made.path)).mode & 0o777).toBe(0o600);
  expect(await readdir(folder)).toEqual(["master-key"]);
});

test("the key stays the same from then on", async () => {
  const { key } = await readOrMakeMasterKey(folder, log);
  expect(await readOrMakeMasterKey(folder, log)).toMatchObject({ key, made: false });
});

test("a file without a key is refused and left as it is", async () => {
  const path = join(folder, "master-key");
  await writeFile(path, "c2VjcmV0");
  await expect(readOrMakeMasterKey(folder, log)).rejects.toThrow(
    expect.objectContaining({
      message: expect.stringMatching(/master-key does not hold 32 bytes in base64\.$/),
      remedy: expect.stringContaining("backup"),
    }),
  );
  expect(await readFile(path, "utf8")).toBe("c2VjcmV0");
});

test("a key that other users can read is warned of", async () => {
  const { path } = await readOrMakeMasterKey(folder, log);
  await chmod(path, 0o644);
  const warn = vi.spyOn(log, "warn");
  await readOrMakeMasterKey(folder, log);
  expect(warn).toHaveBeenCalledWith({ path }, expect.stringContaining("chmod 600"));
});
