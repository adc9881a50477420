import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { lockFolder } from "./folder-lock.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "gatehouse-state-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

test("a folder is locked until its agent releases it", async () => {
  const release = await lockFolder(folder);
  await expect(lockFolder(folder)).rejects.toThrow(`Another agent runs with the state folder ${folder}`);
  release();
  (await lockFolder(folder))();
});

test("the lock of a killed agent does not block others", async () => {
  const program = 'require("node:net").createServer().listen(process.argv[1], () => console.log("ready"))';
  const killed = spawn(process.execPath, ["-e", program, path.join(folder, "running.sock")]);
  await once(killed.stdout, "data");
  await expect(lockFolder(folder)).rejects.toThrow("Another agent runs");
  killed.kill("SIGKILL");
  await once(killed, "close");
  (await lockFolder(folder))();
});
