import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { takeFolder } from "./running-once.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "gatehouse-state-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

test("a folder is one agent's until that one gives it back", async () => {
  const giveBack = await takeFolder(folder);
  await expect(takeFolder(folder)).rejects.toThrow(`Another agent runs with the state folder ${folder}`);
  giveBack();
  (await takeFolder(folder))();
});

test("one that was killed has it no more", async () => {
  const program = 'require("node:net").createServer().listen(process.argv[1], () => console.log("ready"))';
  const killed = spawn(process.execPath, ["-e", program, path.join(folder, "running.sock")]);
  await once(killed.stdout, "data");
  await expect(takeFolder(folder)).rejects.toThrow("Another agent runs");
  killed.kill("SIGKILL");
  await once(killed, "close");
  (await takeFolder(folder))();
});
