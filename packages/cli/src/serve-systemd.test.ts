/**
 * Receives the messages with a Unix datagram socket of python3. Without it or systemd-notify, the test is skipped.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { createDatabaseOn } from "@gatehouse/server/testing/database-setup";
import { createEmptyDatabase, databaseUrl } from "@gatehouse/server/testing/test-database";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { SystemdNotifier } from "./commands/notify-systemd.ts";
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
  const { python, messages, socket } = await receive("listening.sock");
  const server = new GatehouseProcess(["serve", "--port", "0", "--data-dir", join(root, "data")], {
    NOTIFY_SOCKET: socket,
  });
  try {
    const ready = await messages.next("READY=1");
    // The address is printed before the report, and the server answers from then on.
    const address = await server.serving();
    expect(ready).toBe(`READY=1 STATUS=Serving on ${address}`);
    expect((await fetch(`${address}/readyz`)).status).toBe(200);
  } finally {
    server.kill("SIGTERM");
    await server.exited();
    python.kill();
  }
  expect(server.log).not.toContain("failed to notify systemd");
});

test.skipIf(!canReceive)("serve reports READY while it waits for an external database, and names it", async () => {
  const missing = await createEmptyDatabase();
  await missing.drop();
  const { python, messages, socket } = await receive("waiting.sock");
  const server = new GatehouseProcess(["serve", "--port", "0", "--data-dir", join(root, "external")], {
    NOTIFY_SOCKET: socket,
    GATEHOUSE_DATABASE_URL: databaseUrl(missing),
    GATEHOUSE_MASTER_KEY: randomBytes(32).toString("base64"),
  });
  try {
    const waiting = await messages.next("READY=1");
    expect(waiting).toMatch(new RegExp(`^READY=1 STATUS=Waiting for the database at .+/${missing.name}: .+`));
    await createDatabaseOn(inject("server"), missing.name, "template0");
    expect(await messages.next("answers")).toBe("READY=1 STATUS=The database answers. Starting");
    expect(await messages.next("Serving")).toBe(`READY=1 STATUS=Serving on ${await server.serving()}`);
  } finally {
    server.kill("SIGTERM");
    await server.exited();
    python.kill();
    await missing.drop();
  }
});

test.skipIf(!canReceive)("serve that waits for its database stops when it is asked to", async () => {
  const { python, messages, socket } = await receive("stopping.sock");
  const server = new GatehouseProcess(["serve", "--port", "0", "--data-dir", join(root, "stopping")], {
    NOTIFY_SOCKET: socket,
    // No socket of PostgreSQL is in the folder.
    GATEHOUSE_DATABASE_URL: `postgres://gatehouse:secret@/gatehouse?host=${encodeURIComponent(root)}`,
    GATEHOUSE_MASTER_KEY: randomBytes(32).toString("base64"),
  });
  const message = await messages.next("READY=1");
  server.kill("SIGTERM");
  expect(await server.exited()).toBe(0);
  python.kill();
  expect(message).toContain(`STATUS=Waiting for the database at ${root}/gatehouse: connect ENOENT`);
  expect(message + server.log).not.toContain("secret");
});

test.skipIf(!canReceive)("a server that cannot reach systemd logs that", async () => {
  const errors: string[] = [];
  const log = { error: (_: object, text: string) => void errors.push(text) };
  // Only this function is called.
  await SystemdNotifier.of({ NOTIFY_SOCKET: join(root, "gone.sock") }, log as never)?.reportReady("Serving");
  expect(errors).toEqual(["failed to notify systemd; check that systemd-notify is installed"]);
});

interface Receiver {
  readonly python: ChildProcess;
  readonly messages: Messages;
  readonly socket: string;
}

/** Starts the receiver on a socket. */
async function receive(name: string): Promise<Receiver> {
  const socket = join(root, name);
  const python = spawn("python3", ["-c", receiver, socket], { stdio: ["ignore", "pipe", "inherit"] });
  if (python.stdout === null) throw new Error("The receiver has no output.");
  const messages = new Messages(python.stdout);
  await messages.next("bound");
  return { python, messages, socket };
}

/** The lines of the receiver, in order. */
class Messages {
  readonly #lines: AsyncIterator<string>;

  constructor(stream: Readable) {
    this.#lines = createInterface({ input: stream })[Symbol.asyncIterator]();
  }

  /** Skips lines without the text. systemd-notify also sends barriers. */
  async next(text: string): Promise<string> {
    for (;;) {
      const { done, value } = await this.#lines.next();
      if (done === true) throw new Error(`The receiver ended before ${text}.`);
      if (value.includes(text)) return value;
    }
  }
}
