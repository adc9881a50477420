/** The owner of the route to devices, on a machine whose routes and tables are given. */
import { ProgramFailure, type ProgramRunner } from "@gatehouse/agent-core/system/program-runner";
import { expect, test } from "vitest";
import { DeviceRoute } from "./device-route.ts";

interface Machine {
  /** The routes of 100.64.0.0/10, as `ip` lists them; undefined: the routing table has no routes at all. */
  readonly routes: readonly object[] | undefined;
  /** The interfaces that have tables of agents. */
  readonly tables?: readonly string[];
}

function routeOn({ routes, tables = [] }: Machine): DeviceRoute {
  const programs: ProgramRunner = {
    read: async (program, args) => {
      if (program === "nft") {
        expect(args).toEqual(["list", "tables", "inet"]);
        return ["nat", ...tables.map((name) => `gatehouse-${name}`)].map((name) => `table inet ${name}\n`).join("");
      }
      expect([program, ...args].join(" ")).toBe("ip -json -4 route show table main exact 100.64.0.0/10");
      if (routes === undefined) throw new ProgramFailure(program, args, "Error: ipv4: FIB table does not exist.");
      return JSON.stringify(routes);
    },
    change: () => Promise.reject(new Error("nothing is to be changed")),
    start: () => Promise.reject(new Error("nothing is to be started")),
  };
  return new DeviceRoute("gh0", programs);
}

const to = (dev: string) => ({ dst: "100.64.0.0/10", dev, protocol: "71", scope: "link", flags: [] });
const dropped = { type: "blackhole", dst: "100.64.0.0/10", flags: [] };

test.each<[string, Machine]>([
  ["nobody", { routes: [], tables: ["gh1"] }],
  ["nobody, without any route", { routes: undefined }],
  ["an earlier run of this agent", { routes: [to("gh0")], tables: ["gh0", "gh1"] }],
  [
    "this agent, before another program",
    { routes: [to("gh0"), { ...to("eth0"), metric: 100, protocol: "dhcp" }], tables: ["gh0"] },
  ],
  ["a route that drops packets", { routes: [dropped] }],
])("an agent starts, and opens the tunnel, if the route belongs to %s", async (_, machine) => {
  await expect(routeOn(machine).checkFree()).resolves.toBeUndefined();
  expect(await routeOn(machine).otherGateway()).toBeUndefined();
});

test.each<[string, Machine]>([
  ["another gateway agent", { routes: [to("gh1")], tables: ["gh0", "gh1"] }],
  [
    "several interfaces, one of a gateway agent",
    { routes: [{ ...to("eth0"), metric: 50 }, to("gh1")], tables: ["gh1"] },
  ],
  [
    "another gateway agent, among several next hops",
    { routes: [{ dst: "100.64.0.0/10", nexthops: [{ dev: "eth0" }, { dev: "gh1" }] }], tables: ["gh1"] },
  ],
])("an agent drops all traffic if the route belongs to %s", async (_, machine) => {
  expect(await routeOn(machine).otherGateway()).toBe("gh1");
});

test("an agent does not start if another gateway agent has the route", async () => {
  const start = routeOn({ routes: [to("gh1")], tables: ["gh1"] }).checkFree();
  await expect(start).rejects.toThrow(
    /100\.64\.0\.0\/10, .* the interface gh1 of another gateway agent\..*ip link delete dev gh1$/,
  );
});

test("an agent does not start if another program has the route, but keeps its own one", async () => {
  const route = routeOn({ routes: [to("eth0"), { ...to("gh0"), metric: 100 }], tables: ["gh0"] });
  await expect(route.checkFree()).rejects.toThrow(
    /are routed to the interface eth0\..*ip route delete 100.64.0.0\/10 dev eth0$/,
  );
  expect(await route.otherGateway()).toBeUndefined();
});

test("an agent does not start beside another gateway agent, even if its own route comes first", async () => {
  const route = routeOn({ routes: [to("gh0"), { ...to("gh1"), metric: 100 }], tables: ["gh0", "gh1"] });
  await expect(route.checkFree()).rejects.toThrow("the interface gh1 of another gateway agent");
});
