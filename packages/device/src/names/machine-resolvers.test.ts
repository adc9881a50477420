import { expect, test } from "vitest";
import { MachineResolvers, nameservers } from "./machine-resolvers.ts";
import { routingDomains } from "./resolver-setting.ts";

const own = "127.0.0.153";

function resolversWith(files: Record<string, string>, remembered: readonly string[] = []) {
  let kept = remembered;
  const memory = {
    resolvers: () => Promise.resolve(kept),
    keepResolvers: (resolvers: readonly string[]) => {
      kept = resolvers;
      return Promise.resolve();
    },
  };
  return { machine: new MachineResolvers(own, memory, (path) => Promise.resolve(files[path])), kept: () => kept };
}

test.each<[what: string, files: Record<string, string>, remembered: readonly string[], found: readonly string[]]>([
  [
    "those of resolv.conf",
    { "/etc/resolv.conf": "# x\nsearch a\nnameserver 192.0.2.53\nnameserver 2001:db8::53\n" },
    [],
    ["192.0.2.53", "2001:db8::53"],
  ],
  [
    "but never the agent itself",
    { "/etc/resolv.conf": `nameserver ${own}\nnameserver 192.0.2.53` },
    [],
    ["192.0.2.53"],
  ],
  [
    "those of before, where only the agent is left",
    { "/etc/resolv.conf": `nameserver ${own}` },
    ["192.0.2.54"],
    ["192.0.2.54"],
  ],
  [
    "whom systemd-resolved asks, as it would ask the agent again",
    {
      "/etc/resolv.conf": "nameserver 127.0.0.53",
      "/run/systemd/resolve/resolv.conf": `nameserver 192.0.2.53\nnameserver ${own}`,
    },
    [],
    ["192.0.2.53"],
  ],
  ["none where there is nothing", {}, [], []],
])("the machine's resolvers are %s", async (_, files, remembered, found) => {
  const { machine, kept } = resolversWith(files, remembered);
  expect(await machine.now()).toEqual(found);
  expect(kept()).toEqual(found);
});

test("what is no address is no resolver", () => {
  expect(nameservers("nameserver example.com\n nameserver 192.0.2.1 \noptions x")).toEqual(["192.0.2.1"]);
});

test("names become routing domains, and too many of them all names", () => {
  expect(routingDomains(["*.corp.example.com", "git.example.com", "corp.example.com"])).toEqual([
    "~corp.example.com",
    "~git.example.com",
  ]);
  expect(routingDomains(Array.from({ length: 300 }, (_, index) => `n${index}.example.com`))).toEqual(["~."]);
});
