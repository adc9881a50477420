import { expect, test } from "vitest";
import { KnownNetwork, type LocalNetwork, localNetworkReader } from "./local-network.ts";

function readerWith(routes: Record<string, string>, resolvers: readonly string[] = []) {
  const read = (_: string, args: readonly string[]) => Promise.resolve(routes[args[1] ?? ""] ?? "");
  return localNetworkReader({ read }, () => Promise.resolve(resolvers));
}

test("reads the resolvers of the machine, and the routers of all default routes", async () => {
  const ipv4 = [
    { dst: "default", gateway: "192.168.1.1", dev: "wlan0", flags: [] },
    { dst: "default", flags: [], nexthops: [{ gateway: "10.1.1.1" }, { via: { family: "inet6", host: "fe80::5" } }] },
    { dst: "default", dev: "ppp0", flags: [] },
  ];
  const ipv6 = [{ dst: "default", gateway: "2001:db8::1", dev: "wlan0" }];
  const read = readerWith({ "-4": JSON.stringify(ipv4), "-6": JSON.stringify(ipv6) }, [
    "2001:DB8::53",
    "fe80::1%wlan0",
  ]);
  expect(await read()).toEqual({
    resolvers: new Set(["2001:db8::53", "fe80::1%wlan0"]),
    routers: new Set(["192.168.1.1", "10.1.1.1", "fe80::5", "2001:db8::1"]),
  });
});

test("a machine without routes and resolvers has an empty network", async () => {
  expect(await readerWith({})()).toEqual({ resolvers: new Set(), routers: new Set() });
});

test("follows changes, and keeps the known network while it cannot be read", async () => {
  const home = { resolvers: new Set(["192.168.1.1", "192.168.1.2"]), routers: new Set(["192.168.1.1"]) };
  const again = { ...home, resolvers: new Set(["192.168.1.2", "192.168.1.1"]) };
  const abroad = { resolvers: new Set(["192.168.1.1", "192.168.1.2"]), routers: new Set(["10.0.0.1"]) };
  const found: (LocalNetwork | Error)[] = [home, again, new Error("ip is not installed"), abroad, abroad];
  const log: string[] = [];
  const network = new KnownNetwork(
    async () => {
      const next = found.shift();
      if (next === undefined || next instanceof Error) throw next;
      return next;
    },
    (message) => void log.push(message),
  );
  let follows = 0;
  const update = () =>
    network.update(async () => {
      follows += 1;
      expect(network.hasResolvers(["192.168.1.1"])).toBe(false);
      if (follows === 2) throw new Error("no memory");
    });
  expect(network.hasResolvers(["192.168.1.1"])).toBe(false);
  await update();
  expect(follows).toBe(1);
  expect(network.hasResolvers(["192.168.1.1"])).toBe(true);
  expect(network.hasResolvers(["192.168.1.1", "192.168.1.3"])).toBe(false);
  await update();
  await update();
  expect(follows).toBe(1);
  expect(network.current).toEqual(home);
  expect(log).toHaveLength(1);
  await expect(update()).rejects.toThrow("no memory");
  expect(network.hasResolvers(["192.168.1.1"])).toBe(false);
  await update();
  expect(follows).toBe(3);
  expect(network.current).toEqual(abroad);
  expect(network.hasResolvers(["192.168.1.1"])).toBe(true);
});
