import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer as createHttpServer } from "node:http";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";

const images = fileURLToPath(new URL("../../images/", import.meta.url));

/** @returns the exit code */
async function check(file: string, args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const child = spawn(process.execPath, [path.join(images, file), ...args], { env, stdio: "ignore" });
  const [code] = await once(child, "close");
  return code;
}

async function listen(server: Server, at: string | number): Promise<Server> {
  server.listen(at);
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return server;
}

const portOf = (server: Server) => {
  const address = server.address();
  return typeof address === "object" && address !== null ? String(address.port) : "";
};

describe("the health check of the server", () => {
  const file = "gatehouse.health-check.mjs";

  test.each([
    [200, 0],
    [503, 1],
  ])("the answer %i is the exit code %i", async (status, code) => {
    const server = await listen(
      createHttpServer((_, response) => void response.writeHead(status).end()),
      0,
    );
    expect(await check(file, [], { GATEHOUSE_PORT: portOf(server) })).toBe(code);
  });

  test.each([
    [{}, "G".charCodeAt(0)],
    [{ GATEHOUSE_TLS_CERT: "/certificate.pem" }, 0x16],
    [{ GATEHOUSE_ACME_DIRECTORY: "https://acme.example.com/directory" }, 0x16],
  ])("with %j, the first byte is %i", async (environment, expected) => {
    const bytes: (number | undefined)[] = [];
    const server = await listen(
      createServer((socket) => {
        socket.on("error", () => {});
        socket.once("data", (data) => {
          bytes.push(data[0]);
          socket.destroy();
        });
      }),
      0,
    );
    expect(await check(file, [], { ...environment, GATEHOUSE_PORT: portOf(server) })).toBe(1);
    expect(bytes).toEqual([expected]);
  });
});

describe("the health check of the gateway", () => {
  const file = "gatehouse-gateway.health-check.mjs";
  /** Leaves a socket as a process that was killed does. */
  const leaveSocket = async (socket: string) => {
    const program = `require("node:net").createServer().listen(${JSON.stringify(socket)}, () => process.kill(process.pid, "SIGKILL"))`;
    await new Promise((resolve) => spawn(process.execPath, ["--eval", program]).once("exit", resolve));
  };
  const makeFolder = async () => {
    const folder = await mkdtemp(path.join(tmpdir(), "gatehouse-health-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    return folder;
  };

  test.each([
    ["is alive", "alive\n", 0],
    ["closes without an answer", "", 1],
  ])("notices an agent that %s", async (_, answer, code) => {
    const folder = await makeFolder();
    await listen(
      createServer((socket) => void socket.end(answer)),
      path.join(folder, "running.sock"),
    );
    expect(await check(file, [folder])).toBe(code);
  });

  test("notices an agent that hangs", async () => {
    const folder = await makeFolder();
    await listen(
      createServer((socket) => void socket.on("error", () => {}).resume()),
      path.join(folder, "running.sock"),
    );
    expect(await check(file, [folder])).toBe(1);
  });

  test("notices that no agent runs", async () => {
    expect(await check(file, [await makeFolder(), await makeFolder()])).toBe(1);
  });

  test.each([
    ["alive\n", 0],
    ["", 1],
  ])(
    "asks the socket in the runtime folder if nobody listens on the one in the state folder: %j",
    async (answer, code) => {
      const [state, runtime] = [await makeFolder(), await makeFolder()];
      await leaveSocket(path.join(state, "running.sock"));
      await listen(
        createServer((socket) => void socket.end(answer)),
        path.join(runtime, "running.sock"),
      );
      expect(await check(file, [state, runtime])).toBe(code);
    },
  );
});
