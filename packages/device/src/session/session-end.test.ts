/** The agent's own end of a session, while no control plane is there to send other routes. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { HostResolver } from "@gatehouse/agent-core/dns/host-resolver";
import { ResolvedNames } from "@gatehouse/agent-core/dns/resolved-names";
import { StoppedClock } from "@gatehouse/agent-core/testing/stopped-clock";
import type { DeviceConfiguration } from "@gatehouse/contract/records/device-configuration";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { waitLimitMs } from "../../../../test/wait-limit.ts";
import { DeviceFolder } from "../configuration/device-folder.ts";
import { DeviceAgent } from "../device-agent.ts";
import { sessionStatus } from "../status/read-status.ts";
import { exampleDeviceConfiguration, exampleOutage } from "../testing/example-device-configuration.ts";
import { FakeControlPlane } from "../testing/fake-control-plane.ts";
import { RecordingTunnel } from "../testing/recording-tunnel.ts";

const content = exampleDeviceConfiguration();
const minuteMs = 60_000;
let state: string;
let clock: StoppedClock;
let log: string[];
let isLinked: boolean;
let agents: DeviceAgent[];
const controlPlane = new FakeControlPlane(content.device);

beforeEach(async () => {
  state = await mkdtemp(path.join(tmpdir(), "gatehouse-device-"));
  clock = new StoppedClock();
  log = [];
  isLinked = false;
  agents = [];
});
afterEach(async () => {
  for (const agent of agents) await agent.stop();
  await rm(state, { recursive: true, force: true });
});

async function start() {
  const tunnel = new RecordingTunnel();
  const agent = new DeviceAgent({
    device: content.device,
    url: "http://127.0.0.1:9",
    tunnel,
    folder: new DeviceFolder(state),
    names: new ResolvedNames(),
    hosts: new HostResolver(clock, async () => ["192.0.2.9"]),
    isLinked: () => isLinked,
    clock,
    log: (message) => void log.push(message),
  });
  agents.push(agent);
  const changes: (DeviceConfiguration | undefined)[] = [];
  agent.onChange((configuration) => void changes.push(configuration));
  await agent.start();
  return { agent, tunnel, changes };
}

const apply = (agent: DeviceAgent, sessionEndsAt: number, given = content) =>
  agent.applyConfiguration(
    controlPlane.signed({ ...given, sessionEndsAt }, { expiresAt: clock.now() + 600 * minuteMs }),
  );
const peers = (tunnel: RecordingTunnel) => tunnel.wanted?.peers.size;
/** Passes time until the agent's next check has done it. */
const until = (isDone: () => boolean) =>
  vi.waitUntil(() => clock.pass(5_000) === undefined && isDone(), { timeout: waitLimitMs, interval: 5 });

test("blocks nothing after the end of the session", async () => {
  const { agent, tunnel } = await start();
  await agent.trust(controlPlane.tenant, controlPlane.signingKey);
  await apply(agent, clock.now() + minuteMs, { ...exampleOutage(), gateways: [] });
  expect(tunnel.wanted?.routes).toEqual(["10.80.0.0/24", "fd80::/64"]);
  clock.pass(minuteMs);
  await until(() => tunnel.wanted?.routes.length === 0);
});

test("drops the routes at the end of the session, and takes them back after a renewal", async () => {
  const { agent, tunnel, changes } = await start();
  await agent.trust(controlPlane.tenant, controlPlane.signingKey);
  const sessionEndsAt = clock.now() + minuteMs;
  expect(await apply(agent, sessionEndsAt)).toMatchObject({ state: "applied" });
  clock.pass(minuteMs - 1);
  await agent.performed();
  expect(peers(tunnel)).toBe(2);
  clock.pass(1);
  await vi.waitUntil(() => peers(tunnel) === 0, { timeout: waitLimitMs });
  expect(tunnel.wanted?.routes).toEqual([]);
  await agent.performed();
  expect(log).toContain("session has ended; removed the routes");
  expect(changes.at(-1)).toMatchObject({ gateways: [], sessionEndsAt });
  expect(agent.configuration?.gateways).toEqual([]);
  expect(await agent.gatewayStates()).toEqual([]);
  expect(sessionStatus(agent.configuration, clock.now())).toMatchObject({ state: "ended" });
  expect(await apply(agent, clock.now() + 60 * minuteMs)).toMatchObject({ state: "applied" });
  expect(peers(tunnel)).toBe(2);
  expect(sessionStatus(agent.configuration, clock.now())).toMatchObject({ state: "active" });
});

test("starts without routes if the session ended while the agent was stopped", async () => {
  const first = await start();
  await first.agent.trust(controlPlane.tenant, controlPlane.signingKey);
  await apply(first.agent, clock.now() + minuteMs);
  await first.agent.stop();
  clock.time += 2 * minuteMs;
  const { tunnel, agent } = await start();
  expect([peers(tunnel), agent.configuration?.gateways]).toEqual([0, []]);
});

test("leaves the end to a control plane that is there: this machine's clock may be wrong", async () => {
  isLinked = true;
  const { agent, tunnel } = await start();
  await agent.trust(controlPlane.tenant, controlPlane.signingKey);
  await apply(agent, clock.now() + minuteMs);
  clock.pass(2 * minuteMs);
  await agent.performed();
  expect(peers(tunnel)).toBe(2);
  isLinked = false;
  await until(() => peers(tunnel) === 0);
  isLinked = true;
  await until(() => peers(tunnel) === 2);
});

test.each([
  [11 * minuteMs, "active"],
  [10 * minuteMs, "ends-soon"],
  [1, "ends-soon"],
  [0, "ended"],
])("a session that ends in %d ms is %s", (left, expected) => {
  expect(sessionStatus({ ...content, sessionEndsAt: 1_000_000 + left }, 1_000_000).state).toBe(expected);
});
