import { execFileSync } from "node:child_process";
import { chmod, mkdir, mkdtemp, readdir, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { checkRights, readIfExists, writePrivateFile } from "./private-file.ts";

let folder: string;
let key: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "gatehouse-state-"));
  key = path.join(folder, "wireguard.key");
  await writeFile(key, "key", { mode: 0o600 });
});
afterEach(() => rm(folder, { recursive: true, force: true }));

test.each([
  [0o700, 0o600],
  // The default mode of systemd's StateDirectory. Other users can only list the names of files.
  [0o755, 0o600],
  [0o700, 0o400],
])("a folder of mode %o with a key of mode %o is accepted", async (ofFolder, ofKey) => {
  await chmod(folder, ofFolder);
  await chmod(key, ofKey);
  await expect(checkRights(folder, key)).resolves.toBeUndefined();
});

test.each([
  [0o770, 0o600, "can write to the state folder .* \\(mode 0770\\).*chmod go-w"],
  [0o702, 0o600, "can write to the state folder .* \\(mode 0702\\).*chmod go-w"],
  [0o700, 0o640, "can read the private key .* \\(mode 0640\\).*chmod go="],
  [0o700, 0o604, "can read the private key .* \\(mode 0604\\).*chmod go="],
])("a folder of mode %o with a key of mode %o is refused and not changed", async (ofFolder, ofKey, why) => {
  await chmod(folder, ofFolder);
  await chmod(key, ofKey);
  await expect(checkRights(folder, key)).rejects.toThrow(new RegExp(why));
  expect([(await stat(folder)).mode & 0o777, (await stat(key)).mode & 0o777]).toEqual([ofFolder, ofKey]);
});

test("a failed write names the file, and leaves nothing", async () => {
  const missing = path.join(folder, "missing", "trust.json");
  await expect(writePrivateFile(missing, "{}")).rejects.toThrow(`ENOENT: no such file or directory, open '${missing}'`);
  const occupied = path.join(folder, "occupied");
  await mkdir(occupied);
  await expect(writePrivateFile(occupied, "{}")).rejects.toThrow(`rename '${occupied}' -> '${occupied}'`);
  expect((await readdir(folder)).sort()).toEqual(["occupied", "wireguard.key"]);
});

test("a file is read, also behind a link, and a missing one is undefined", async () => {
  const link = path.join(folder, "link");
  await symlink(key, link);
  expect(await readIfExists(key)).toBe("key");
  expect(await readIfExists(link)).toBe("key");
  expect(await readIfExists(path.join(folder, "missing"))).toBeUndefined();
});

test("anything else in place of a file is an error, and no read waits for a writer", async () => {
  const fifo = path.join(folder, "fifo");
  execFileSync("mkfifo", [fifo]);
  await mkdir(path.join(folder, "folder"));
  for (const other of [fifo, path.join(folder, "folder"), "/dev/zero"]) {
    await expect(readIfExists(other)).rejects.toThrow(`${other} is not a regular file`);
  }
});
