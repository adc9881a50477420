import { execFileSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { StateFolder } from "./state-folder.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "gatehouse-state-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

test.each(["{", "null", "{}", '{"signingKey": "short"}'])(
  "an invalid pin is reported with its file: %s",
  async (text) => {
    await writeFile(path.join(folder, "trust.json"), text);
    await expect(new StateFolder(folder).trust()).rejects.toThrow(
      `${folder}/trust.json does not contain a signing key`,
    );
  },
);

test("a new folder has no pinned key", async () => {
  expect(await new StateFolder(folder).trust()).toBeUndefined();
});

test("a FIFO in place of the configuration is a problem, and nobody waits for its writer", async () => {
  const fifo = path.join(folder, "configuration.json");
  execFileSync("mkfifo", [fifo]);
  const problem = expect.stringContaining(`${fifo} is not a regular file`);
  expect(await new StateFolder(folder).configuration()).toEqual({ problem });
});
