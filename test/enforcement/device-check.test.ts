/** `gatehouse device status` and `check` on real packets: what they say of each state of the device and its network. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { runHere } from "../../packages/cli/src/testing/run-here.ts";
import { askCheck, askStatus } from "../../packages/device/src/status/ask-agent.ts";
import { until } from "../../packages/server/src/testing/until.ts";
import { DeviceWorld, type FarGateway, ports, site } from "./device-world.ts";
import { obstacle } from "./namespaces.ts";

const why = obstacle();
if (why !== undefined) console.warn(`Diagnosis is not tested on real packets: ${why}.`);

const closedPort = 9_999;

describe.skipIf(why !== undefined)("a device that is asked what is wrong", () => {
  const world = new DeviceWorld();
  let one: FarGateway;

  beforeAll(async () => {
    await world.build();
    [one] = world.gateways as [FarGateway, FarGateway];
    await world.startControlPlane();
    world.startAgent();
    await world.linked();
  });
  afterAll(() => world.remove());

  /** A resource with the application's address. @param port the TCP port that it offers */
  const resource = (port: number) => ({
    id: one.id,
    name: "Application",
    addresses: [{ address: site.app, tcp: [`${port}-${port}`] }],
  });
  const allowed = (port: number) => world.answer({ outcome: "reachable", resource: resource(port), reasons: [] });
  const content = () => world.content([{ allowedIps: [`${site.app}/32`], names: ["files.internal.example.com"] }, {}]);

  beforeEach(async () => {
    if (!(await world.state()).isLinked) return;
    expect(await world.configure(content()), world.log).toMatchObject({ type: "applied" });
    await allowed(ports.one);
  });

  async function status() {
    const reply = await askStatus(world.stateFolder);
    if (reply.kind !== "answer") throw new Error(`the agent did not answer: ${reply.kind} ${world.log}`);
    return reply.answer;
  }
  async function check(to: string, port?: number) {
    const reply = await askCheck(world.stateFolder, to, port);
    if (reply.kind !== "answer") throw new Error(`the agent did not answer: ${reply.kind} ${world.log}`);
    return reply.answer;
  }

  test("status shows user, path, handshake and round-trip time of each gateway, and what is reachable", async () => {
    await until("both gateways answer", async () =>
      (await status()).gateways.every(({ roundTripTimeMs }) => roundTripTimeMs !== undefined),
    );
    const shown = await status();
    expect(shown).toMatchObject({
      user: "ann@example.com",
      controlPlane: { connected: true },
      session: { state: "unlimited" },
      reachable: { addresses: [`${site.app}/32`], names: ["files.internal.example.com"], internet: false },
    });
    expect(shown.gateways.map(({ path, address }) => [path, address])).toEqual([
      ["direct", "192.0.2.1:51820"],
      ["direct", "192.0.2.2:51820"],
    ]);
    for (const { lastHandshake = "", roundTripTimeMs } of shown.gateways) {
      expect(Date.now() - Date.parse(lastHandshake)).toBeLessThan(180_000);
      expect(roundTripTimeMs).toBeGreaterThan(0);
      expect(roundTripTimeMs).toBeLessThan(2_000);
    }
    const { code, output } = await runHere(["device", "status", "--state-folder", world.stateFolder]);
    expect(code).toBe(0);
    expect(output).toMatch(/direct 192\.0\.2\.1:51820 {2}\d+ s ago {7,9}[\d.]+ ms/);
  });

  test("nothing is broken for a target that accepts connections", async () => {
    const done = await check("Application");
    expect(done.broken, JSON.stringify(done)).toBeUndefined();
    expect(done.steps.map(({ state }) => state)).toEqual(["ok", "ok", "ok", "ok", "ok", "skipped", "ok"]);
    const { code, output } = await runHere(["device", "check", "Application", "--state-folder", world.stateFolder]);
    expect(code).toBe(0);
    expect(output).toContain("Application: no step is broken.");
  });

  test("a target that refuses connections", async () => {
    await allowed(closedPort);
    const done = await check("Application");
    expect(done.broken).toBe("target");
    expect(done.steps.at(-1)?.text).toBe(`${site.app} refuses connections on TCP port ${closedPort}.`);
  });

  test("access that a policy denies", async () => {
    await world.answer({ outcome: "blocked", reasons: [{ kind: "denied", text: "Your organisation blocks it." }] });
    const ran = await runHere(["device", "check", "Application", "--state-folder", world.stateFolder]);
    expect(ran.code).toBe(1);
    expect(ran.output).toMatch(/BROKEN {3}decision .*\n +Your organisation blocks it\.\n/);
  });

  test("a route that another program took", async () => {
    const rule = ["to", `${site.app}/32`, "lookup", "main", "priority", "100"];
    world.machine.run("ip", ["route", "add", `${site.app}/32`, "dev", "wide"]);
    world.machine.run("ip", ["rule", "add", ...rule]);
    try {
      const done = await check("Application");
      expect(done.broken).toBe("route");
      expect(done.steps.find(({ step }) => step === "route")?.text).toContain("through wide instead of the tunnel");
    } finally {
      world.machine.run("ip", ["rule", "del", ...rule]);
      world.machine.run("ip", ["route", "del", `${site.app}/32`, "dev", "wide"]);
    }
  });

  test("a name that the gateway resolves, but that the programs of the machine do not ask for", async () => {
    // The namespace has the resolvers of the machine that runs the test, and not the agent.
    const done = await check("files.internal.example.com", ports.one);
    expect(done.broken).toBe("dns");
    expect(done.steps.find(({ step }) => step === "dns")?.remedy).toContain("nameserver 127.0.0.153");
  });

  test("a gateway that is down: without a handshake, or since the last one", async () => {
    expect((await check("Application")).broken).toBeUndefined();
    const underlay = (state: "up" | "down") => one.namespace.run("ip", ["link", "set", "wide", state]);
    underlay("down");
    try {
      const done = await check("Application");
      expect(done.broken).toBe("gateway");
      expect(done.steps.find(({ step }) => step === "handshake")?.state).toBe("ok");
    } finally {
      underlay("up");
    }
    const publicKey = one.namespace.run("wg", ["pubkey"], one.namespace.run("wg", ["genkey"])).trim();
    const unknownKey = { publicKey, allowedIps: [`${site.app}/32`] };
    expect(await world.configure(world.content([unknownKey, {}]))).toMatchObject({ type: "applied" });
    const done = await check("Application");
    expect(done.broken).toBe("handshake");
    expect(done.steps.find(({ step }) => step === "handshake")?.text).toContain("at 192.0.2.1:51820 (direct)");
  });

  test("a session that ends while the control plane is away: the device drops its routes, and says so", async () => {
    const sessionEndsAt = Date.now() + 8_000;
    expect(await world.configure({ ...content(), sessionEndsAt })).toMatchObject({ type: "applied" });
    expect(await world.carriers()).toEqual(["one"]);
    expect((await status()).session).toEqual({ state: "ends-soon", endsAt: new Date(sessionEndsAt).toISOString() });
    expect(world.log).toContain("session of this device ends soon");
    await world.stopControlPlane();
    await until("the routes are gone", () => world.log.includes("session has ended; removed the routes"), 30_000);
    expect(Date.now()).toBeGreaterThanOrEqual(sessionEndsAt);
    expect(await world.carriers()).toEqual([]);
    expect(world.machine.run("ip", ["rule", "show"])).not.toContain("26440");
    expect(world.machine.run("wg", ["show", world.interfaceName, "peers"]).trim()).toBe("");
    expect(await status()).toMatchObject({
      session: { state: "ended" },
      controlPlane: { connected: false },
      gateways: [],
      reachable: { addresses: [], names: [], internet: false },
    });
    const ran = await runHere(["device", "check", "Application", "--state-folder", world.stateFolder]);
    expect(ran.code).toBe(1);
    expect(ran.output).toMatch(/BROKEN {3}sign-in {4}The session of this device ended at .*\n +Sign in again/);
  });
});
