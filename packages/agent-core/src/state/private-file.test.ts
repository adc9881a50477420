import { chmod, mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { checkRights } from "./private-file.ts";

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
  // Of systemd's StateDirectory, as it is made where nothing else is said; readers find nothing but names.
  [0o755, 0o600],
  [0o700, 0o400],
])("a folder of mode %o with a key of mode %o is taken", async (ofFolder, ofKey) => {
  await chmod(folder, ofFolder);
  await chmod(key, ofKey);
  await expect(checkRights(folder, key)).resolves.toBeUndefined();
});

test.each([
  [0o770, 0o600, "can be written to by others \\(mode 0770\\).*chmod go-w"],
  [0o702, 0o600, "can be written to by others \\(mode 0702\\).*chmod go-w"],
  [0o700, 0o640, "open to others \\(mode 0640\\).*chmod go="],
  [0o700, 0o604, "open to others \\(mode 0604\\).*chmod go="],
])("a folder of mode %o with a key of mode %o is refused, and left as it is", async (ofFolder, ofKey, why) => {
  await chmod(folder, ofFolder);
  await chmod(key, ofKey);
  await expect(checkRights(folder, key)).rejects.toThrow(new RegExp(why));
  expect([(await stat(folder)).mode & 0o777, (await stat(key)).mode & 0o777]).toEqual([ofFolder, ofKey]);
});
