/**
 * Receives the message with a Unix datagram socket of python3. Without it or systemd-notify, the test is skipped.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, expect, test } from "vitest";
import { notifyReady } from "./commands/notify-systemd.ts";
import { GatehouseProcess } from "./testing/gatehouse-process.ts";

const isInstalled = (program: string) => spawnSync(program, ["--version"]).status === 0;
const canReceive = isInstalled("python3") && isInstalled("systemd-notify");
if (!canReceive) console.warn("Messages to systemd are not tested: python3 and systemd-notify are required.");

/** Prints the messages. Descriptors that come along, such as that of a barrier, end with the process. */
const receiver = `
import array, os, socket, sys
server = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
server.bind(sys.argv[1])
print("bound", flush=True)
while True:
    data, ancillary, _, _ = server.recvmsg(4096, socket.CMSG_SPACE(64))
    for level, kind, content in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            descriptors = array.array("i")
            descriptors.frombytes(content[: len(content) - len(content) % descriptors.itemsize])
            for descriptor in descriptors: os.close(descriptor)
    print(data.decode().strip().replace("\\n", " "), flush=True)
`;

let root: string;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "gatehouse-test-"));
  await chmod(root, 0o711); // PostgreSQL's account passes through when the tests run as root
});

afterAll(() => rm(root, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 }));

test.skipIf(!canReceive)("serve reports READY to systemd once it listens", async () => {
  const socket = join(root, "notify.sock");
  const python = spawn("python3", ["-c", receiver, socket], { stdio: ["ignore", "pipe", "inherit"] });
  const server = await startedWhenBound(python, socket);
  try {
    await message(python, "READY=1");
    // The address is printed before the report, and the server answers from then on.
    const address = await server.serving();
    expect((await fetch(`${address}/readyz`)).status).toBe(200);
  } finally {
    server.kill("SIGTERM");
    await server.exited();
    python.kill();
  }
  expect(server.log).not.toContain("failed to notify systemd");
});

test.skipIf(!canReceive)("a server that cannot reach systemd logs that", async () => {
  const errors: string[] = [];
  const log = { error: (_: object, text: string) => void errors.push(text) };
  // Only this function is called.
  await notifyReady({ NOTIFY_SOCKET: join(root, "gone.sock") }, log as never);
  expect(errors).toEqual(["failed to notify systemd; check that systemd-notify is installed"]);
});

async function startedWhenBound(python: ChildProcess, socket: string): Promise<GatehouseProcess> {
  await message(python, "bound");
  return new GatehouseProcess(["serve", "--port", "0", "--data-dir", join(root, "data")], { NOTIFY_SOCKET: socket });
}

async function message(python: ChildProcess, text: string): Promise<void> {
  if (python.stdout === null) throw new Error("The receiver has no output.");
  const lines = createInterface({ input: python.stdout });
  for await (const line of lines) if (line.includes(text)) return;
  throw new Error(`The receiver ended before ${text}.`);
}
