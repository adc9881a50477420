import { createSocket } from "node:dgram";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { lockFolder } from "@gatehouse/agent-core/state/folder-lock";
import { ProgramFailure, type ProgramRunner } from "@gatehouse/agent-core/system/program-runner";
import { expect, test } from "vitest";
import { DeviceFolder } from "./configuration/device-folder.ts";
import { runDevice } from "./run-device.ts";

/** A machine on which nothing is set up, and every program says so. */
const programs: ProgramRunner = {
  read: (program, args) =>
    program === "wg" || args.includes("link")
      ? Promise.reject(new ProgramFailure(program, args, "No such device"))
      : Promise.resolve("[]"),
  change: () => Promise.resolve(),
  start: () => Promise.resolve(),
};

const enrolled = {
  url: "http://127.0.0.1:9",
  device: "00000000-0000-7000-8000-000000000001",
  name: "Laptop",
  user: "ann@example.com",
  token: "none",
};
const common = { interfaceName: "gatehouse-dev0", writeLog: () => undefined, agentVersion: "0.1.0" };

test("a device's agent changes nothing if another one uses its folder or the machine", async () => {
  const folder = await mkdtemp(path.join(tmpdir(), "gatehouse-device-"));
  const changed: string[] = [];
  const ofAnother: ProgramRunner = {
    ...programs,
    read: (program, args) =>
      args.includes("route") && args.includes("-4")
        ? Promise.resolve(JSON.stringify([{ dst: "10.80.0.0/24", dev: "another0" }]))
        : programs.read(program, args),
    change: (program) => Promise.resolve(void changed.push(program)),
  };
  const settings = { ...common, stateFolder: folder, dns: undefined, programs: ofAnother };
  const run = () => runDevice(enrolled, settings, new AbortController().signal);
  try {
    await new DeviceFolder(folder).make();
    await expect(run()).rejects.toThrow("with the interface another0");
    const giveBack = await lockFolder(folder);
    await expect(run()).rejects.toThrow("Another agent runs");
    giveBack();
    expect(changed).toEqual([]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

test("a device that cannot serve DNS at its address reports it, and leaves nothing that keeps it running", async () => {
  const folder = await mkdtemp(path.join(tmpdir(), "gatehouse-device-"));
  const taken = createSocket("udp4").bind(0, "127.0.0.1");
  await once(taken, "listening");
  const { port } = taken.address() as AddressInfo; // of a socket that is bound
  const waiting = new Set<() => void>();
  try {
    await new DeviceFolder(folder).make();
    const settings = {
      ...common,
      stateFolder: folder,
      dns: { address: "127.0.0.1", port },
      programs,
      clock: {
        now: () => Date.now(),
        elapsedMs: () => performance.now(),
        after(_delayMs: number, call: () => void) {
          waiting.add(call);
          return () => waiting.delete(call);
        },
      },
    };
    await expect(runDevice(enrolled, settings, new AbortController().signal)).rejects.toThrow(
      new RegExp(`The agent cannot serve DNS at 127\\.0\\.0\\.1:${port}: .*EADDRINUSE.*--dns`),
    );
    expect(waiting.size).toBe(0);
  } finally {
    taken.close();
    await rm(folder, { recursive: true, force: true });
  }
});
