import { expect, test } from "vitest";
import { MachineResolvers, nameservers } from "./machine-resolvers.ts";
import { routingDomains } from "./resolver-setting.ts";

const own = "127.0.0.153";

function resolversWith(files: Record<string, string>, remembered: readonly string[] = []) {
  let stored = remembered;
  const memory = {
    resolvers: () => Promise.resolve(stored),
    storeResolvers: (resolvers: readonly string[]) => {
      stored = resolvers;
      return Promise.resolve();
    },
  };
  return { machine: new MachineResolvers(own, memory, (path) => Promise.resolve(files[path])), stored: () => stored };
}

test.each<[what: string, files: Record<string, string>, remembered: readonly string[], found: readonly string[]]>([
  [
    "those in resolv.conf",
    { "/etc/resolv.conf": "# x\nsearch a\nnameserver 192.0.2.53\nnameserver 2001:db8::53\n" },
    [],
    ["192.0.2.53", "2001:db8::53"],
  ],
  ["not the agent itself", { "/etc/resolv.conf": `nameserver ${own}\nnameserver 192.0.2.53` }, [], ["192.0.2.53"]],
  [
    "the stored ones, if only the agent is listed",
    { "/etc/resolv.conf": `nameserver ${own}` },
    ["192.0.2.54"],
    ["192.0.2.54"],
  ],
  [
    "the upstreams of systemd-resolved, which could forward to the agent",
    {
      "/etc/resolv.conf": "nameserver 127.0.0.53",
      "/run/systemd/resolve/resolv.conf": `nameserver 192.0.2.53\nnameserver ${own}`,
    },
    [],
    ["192.0.2.53"],
  ],
  ["none if no file exists", {}, [], []],
])("the machine's resolvers are %s", async (_, files, remembered, found) => {
  const { machine, stored } = resolversWith(files, remembered);
  expect(await machine.now()).toEqual(found);
  expect(stored()).toEqual(found);
});

test("all resolvers include those behind a resolver on the machine, and no unreadable files", async () => {
  const files: Record<string, string> = {
    "/etc/resolv.conf": `nameserver ${own}\nnameserver 127.0.0.1`,
    "/run/NetworkManager/no-stub-resolv.conf": "nameserver 192.0.2.53",
    "/run/systemd/resolve/resolv.conf": `nameserver 192.0.2.54\nnameserver ${own}`,
  };
  const memory = { resolvers: async () => [], storeResolvers: async () => undefined };
  const machine = new MachineResolvers(own, memory, async (path) => {
    if (path.includes("dnsmasq")) throw new Error("permission denied");
    return files[path];
  });
  expect(await machine.all()).toEqual(["127.0.0.1", "192.0.2.54", "192.0.2.53"]);
});

test("a host name is not a resolver", () => {
  expect(nameservers("nameserver example.com\n nameserver 192.0.2.1 \noptions x")).toEqual(["192.0.2.1"]);
});

test("names become routing domains, and too many names become a domain for all names", () => {
  expect(routingDomains(["*.corp.example.com", "git.example.com", "corp.example.com"])).toEqual([
    "~corp.example.com",
    "~git.example.com",
  ]);
  expect(routingDomains(Array.from({ length: 300 }, (_, index) => `n${index}.example.com`))).toEqual(["~."]);
});
