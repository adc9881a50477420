/**
 * Receives the messages with a Unix datagram socket of python3. Without it or systemd-notify, the tests are skipped.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { StoppedClock } from "../testing/stopped-clock.ts";
import { ServiceManager } from "./service-manager.ts";

const isInstalled = (program: string) => spawnSync(program, ["--version"]).status === 0;
const canReceive = isInstalled("python3") && isInstalled("systemd-notify");
if (!canReceive) console.warn("Messages to systemd are not tested: python3 and systemd-notify are required.");

const waitLimitMs = 20_000;
/** Prints each datagram as a line. Descriptors that come along, such as that of a barrier, are closed. */
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

describe.skipIf(!canReceive)("messages to systemd", () => {
  let folder: string;
  let socket: string;
  let python: ChildProcess;
  let received: string[];
  let clock: StoppedClock;
  let log: string[];

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "gatehouse-notify-"));
    socket = join(folder, "notify.sock");
    received = [];
    log = [];
    clock = new StoppedClock();
    python = spawn("python3", ["-c", receiver, socket], { stdio: ["ignore", "pipe", "inherit"] });
    if (python.stdout === null) throw new Error("the receiver has no output");
    createInterface({ input: python.stdout }).on("line", (line) => received.push(line));
    await arrived("bound");
  });
  afterEach(() => {
    python.kill();
    rmSync(folder, { recursive: true, force: true });
  });

  const states = () => received.filter((line) => /READY|WATCHDOG|STOPPING/.test(line));
  const arrived = (text: string) =>
    vi.waitUntil(() => received.some((line) => line.includes(text)), { timeout: waitLimitMs });
  const manager = (environment: Readonly<Record<string, string>>) =>
    new ServiceManager({
      environment: { NOTIFY_SOCKET: socket, ...environment },
      pid: process.pid,
      clock,
      log: (message) => void log.push(message),
    });

  test("reports READY, then WATCHDOG while the agent performs operations, then STOPPING", async () => {
    const service = manager({ WATCHDOG_USEC: "60000000", WATCHDOG_PID: String(process.pid) });
    let alive: (() => void) | undefined;
    let asked = 0;
    await service.ready(() => {
      asked += 1;
      return new Promise((resolve) => {
        alive = resolve;
      });
    });
    expect(states()).toEqual([expect.stringContaining("READY=1")]);
    clock.pass(19_999);
    expect(asked).toBe(0);
    clock.pass(1);
    expect(asked).toBe(1);
    // The agent hangs: nothing is reported, and no second question piles up.
    clock.pass(120_000);
    expect(asked).toBe(1);
    alive?.();
    await arrived("WATCHDOG=1");
    await vi.waitUntil(
      () => {
        clock.pass(20_000);
        return asked === 2;
      },
      { timeout: waitLimitMs },
    );
    await service.stop();
    alive?.();
    await arrived("STOPPING=1");
    expect(states().filter((line) => line.includes("WATCHDOG"))).toHaveLength(1);
    expect(log).toEqual([]);
  });

  test.each([[{ WATCHDOG_USEC: "60000000", WATCHDOG_PID: "1" }], [{}], [{ WATCHDOG_USEC: "none" }]])(
    "asks for no watchdog reports with %o",
    async (environment) => {
      let asked = 0;
      const service = manager(environment);
      await service.ready(async () => {
        asked += 1;
      });
      clock.pass(600_000);
      expect(asked).toBe(0);
      expect(states()).toHaveLength(1);
    },
    60_000,
  );

  test("an agent goes on if systemd cannot be reached, and logs it", async () => {
    const service = manager({ NOTIFY_SOCKET: join(folder, "gone.sock") });
    await service.ready(async () => undefined);
    expect(log).toEqual([expect.stringContaining("failed to notify systemd")]);
  });
});

test("without NOTIFY_SOCKET, nothing is started", async () => {
  const log: string[] = [];
  const service = new ServiceManager({
    environment: { WATCHDOG_USEC: "60000000", PATH: "" },
    pid: process.pid,
    clock: new StoppedClock(),
    log: (message) => void log.push(message),
  });
  await service.ready(async () => undefined);
  await service.stop();
  expect(log).toEqual([]);
});
