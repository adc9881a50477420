import { setImmediate } from "node:timers/promises";
import { StoppedClock } from "@gatehouse/agent-core/testing/stopped-clock";
import { expect, test, vi } from "vitest";
import { exampleDeviceConfiguration } from "../testing/example-device-configuration.ts";
import { RecordingTunnel } from "../testing/recording-tunnel.ts";
import { TunnelChanges } from "./tunnel-changes.ts";

test("starts no change while a part of a failed removal is in progress", async () => {
  let finish = () => {};
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const tunnel = new RecordingTunnel();
  vi.spyOn(tunnel, "remove").mockRejectedValueOnce(new Error("no memory"));
  const drainTunnel = { apply: async () => {}, remove: () => finished, livePeers: async () => new Map() };
  const changes = new TunnelChanges({ tunnel, drainTunnel, clock: new StoppedClock(), log: () => {} });
  const removed = changes.remove().catch((error: unknown) => error);
  const inputs = { named: new Map(), pathTo: () => undefined, controlPlane: [] };
  const applied = changes.apply(exampleDeviceConfiguration(), inputs, new Map());
  await setImmediate();
  expect(tunnel.wanted).toBeUndefined();
  finish();
  expect(await removed).toEqual(new Error("no memory"));
  await applied;
  expect(tunnel.wanted).toBeDefined();
});
