import { chmod, mkdir, mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { checkRights, writePrivateFile } from "./private-file.ts";

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
