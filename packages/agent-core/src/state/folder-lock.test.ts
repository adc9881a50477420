import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
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

test("connections read that the agent is alive once it has performed an operation", async () => {
  let finish: (() => void) | undefined;
  const operation = () =>
    new Promise<void>((resolve) => {
      finish = resolve;
    });
  const release = await lockFolder(folder, operation);
  const hanging = connection();
  await vi.waitUntil(() => finish !== undefined, { timeout: 20_000 });
  expect(hanging.answer()).toBe("");
  finish?.();
  await hanging.closed;
  expect(hanging.answer()).toBe("alive\n");
  release();
});

test("the health check of the gateway's image understands the answer", async () => {
  const file = fileURLToPath(
    new URL("../../../../packaging/images/gatehouse-gateway.health-check.mjs", import.meta.url),
  );
  const check = async () => {
    const [code] = await once(spawn(process.execPath, [file, folder]), "close");
    return code;
  };
  const release = await lockFolder(folder, () => Promise.resolve());
  expect(await check()).toBe(0);
  release();
  expect(await check()).toBe(1);
});

test("connections read nothing if the agent fails", async () => {
  const release = await lockFolder(folder, () => Promise.reject(new Error("failed")));
  const { closed, answer } = connection();
  await closed;
  expect(answer()).toBe("");
  release();
});

function connection() {
  const socket = connect(path.join(folder, "running.sock")).setEncoding("utf8");
  let text = "";
  socket.on("data", (data) => {
    text += data;
  });
  return { closed: once(socket, "close"), answer: () => text };
}
