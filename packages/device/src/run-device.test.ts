import { createSocket } from "node:dgram";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import type { ProgramRunner } from "@gatehouse/gateway/programs/program-runner";
import { expect, test } from "vitest";
import { DeviceFolder } from "./configuration/device-folder.ts";
import { runDevice } from "./run-device.ts";

/** A machine on which nothing is set up, and every program says so. */
const programs: ProgramRunner = {
  read: () => Promise.resolve("[]"),
  change: () => Promise.resolve(),
  start: () => Promise.resolve(),
};

test("a device that cannot answer names where it should says so, and leaves nothing that would keep it running", async () => {
  const folder = await mkdtemp(path.join(tmpdir(), "gatehouse-device-"));
  const taken = createSocket("udp4").bind(0, "127.0.0.1");
  await once(taken, "listening");
  const { port } = taken.address() as AddressInfo; // of a socket that is bound
  const waiting = new Set<() => void>();
  try {
    await new DeviceFolder(folder).make();
    const enrolled = {
      url: "http://127.0.0.1:9",
      device: "00000000-0000-7000-8000-000000000001",
      name: "Laptop",
      user: "ann@example.com",
      token: "none",
    };
    const settings = {
      interfaceName: "gatehouse-dev0",
      stateFolder: folder,
      dns: { address: "127.0.0.1", port },
      log: () => undefined,
      agentVersion: "0.1.0",
      programs,
      clock: {
        now: () => Date.now(),
        after(_delayMs: number, call: () => void) {
          waiting.add(call);
          return () => waiting.delete(call);
        },
      },
    };
    await expect(runDevice(enrolled, settings, new AbortController().signal)).rejects.toThrow(
      new RegExp(`Names cannot be answered at 127\\.0\\.0\\.1:${port}: .*EADDRINUSE.*--dns`),
    );
    expect(waiting.size).toBe(0);
  } finally {
    taken.close();
    await rm(folder, { recursive: true, force: true });
  }
});
