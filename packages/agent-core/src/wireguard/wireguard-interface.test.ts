import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ProgramFailure, type ProgramRunner } from "../system/program-runner.ts";
import { WireGuardInterface } from "./wireguard-interface.ts";
import { publicKeyOf, replaceKey } from "./wireguard-key.ts";

const own = `${"A".repeat(43)}=`;
const another = `${"B".repeat(42)}A=`;
const former = `${"C".repeat(42)}A=`;
const earlier = `${"D".repeat(42)}A=`;

/** @param key undefined: the interface is not a WireGuard interface */
function check(key: string | undefined, exists: boolean): Promise<void> {
  const programs: ProgramRunner = {
    read: (program, args) => {
      if (program === "wg" && key !== undefined) return Promise.resolve(`${key}\n`);
      if (program === "ip" && exists) return Promise.resolve("7: hx0");
      return Promise.reject(new ProgramFailure(program, args, "No such device"));
    },
    change: () => Promise.reject(new Error("nothing is to be changed")),
    start: () => Promise.reject(new Error("nothing is to be started")),
  };
  return new WireGuardInterface("wg0", programs, "wireguard.key").checkOwn(own, [former, earlier]);
}

test.each([
  ["it does not exist", undefined, false],
  ["it has this agent's key", own, true],
  ["it has the key that this agent had before", former, true],
  ["it has an earlier key of this agent", earlier, true],
  ["its setup was interrupted before it had a key", "(none)", true],
])("an interface is used if %s", async (_, key, exists) => {
  await expect(check(key, exists)).resolves.toBeUndefined();
});

test.each([
  ["has another key", another, "has another key"],
  ["is not a WireGuard interface", undefined, "No such device"],
])("an interface is refused if it %s", async (_, key, why) => {
  await expect(check(key, true)).rejects.toThrow(why);
  await expect(check(key, true)).rejects.toThrow("ip link delete dev wg0");
});

/** A machine without WireGuard in its kernel, on which an earlier wireguard-go holds the name for some time. */
class LingeringMachine implements ProgramRunner {
  started = 0;
  deleted = 0;
  #lingers: number;
  #serves: boolean;

  constructor({ lingers, serves }: { readonly lingers: number; readonly serves: boolean }) {
    this.#lingers = lingers;
    this.#serves = serves;
  }

  async read(program: string, args: readonly string[]): Promise<string> {
    if (this.#lingers > 0) this.#lingers -= 1;
    if (program === "wg" && (this.#serves || (this.deleted > 0 && this.#lingers > 0))) return "51820\n";
    throw new ProgramFailure(program, args, "No such device");
  }

  async change(program: string, args: readonly string[]): Promise<void> {
    if (args[1] !== "delete") throw new ProgramFailure(program, args, "Unknown device type.");
    this.deleted += 1;
    this.#serves = false;
  }

  async start(): Promise<void> {
    this.started += 1;
    // wireguard-go exits immediately while another process has the name.
    this.#serves = this.#lingers === 0;
  }
}

test("wireguard-go is started again if an earlier process still had the name", async () => {
  const machine = new LingeringMachine({ lingers: 5, serves: false });
  await new WireGuardInterface("wg0", machine, "wireguard.key").ensure();
  expect(machine.started).toBe(2);
});

test("removing an interface waits until it no longer exists", async () => {
  const machine = new LingeringMachine({ lingers: 5, serves: true });
  const wireGuard = new WireGuardInterface("wg0", machine, "wireguard.key");
  await wireGuard.remove();
  expect(machine.deleted).toBe(1);
  expect(await wireGuard.exists()).toBe(false);
});

describe("on a machine without wireguard-tools", () => {
  const missing = (program: string, args: readonly string[]) =>
    Promise.reject(new ProgramFailure(program, args, "not installed (package wireguard-tools)", true));
  const started: string[] = [];
  const machine: ProgramRunner = {
    read: (program, args) => (program === "wg" ? missing(program, args) : Promise.resolve("")),
    change: (program, args) => (program === "wg" ? missing(program, args) : Promise.resolve()),
    start: (program) => Promise.resolve(void started.push(program)),
  };

  test("the missing package is named, and wireguard-go is not blamed", async () => {
    const wireGuard = new WireGuardInterface("wg0", machine, "wireguard.key");
    for (const use of [() => wireGuard.checkOwn(own), () => wireGuard.ensure(), () => wireGuard.remove()]) {
      await expect(use()).rejects.toThrow("not installed (package wireguard-tools)");
    }
    expect(started).toEqual([]);
  });
});

test("without WireGuard in the kernel and without wireguard-go, the message names both", async () => {
  const machine: ProgramRunner = {
    read: (program, args) => Promise.reject(new ProgramFailure(program, args, "No such device")),
    change: (program, args) => Promise.reject(new ProgramFailure(program, args, "Unknown device type.")),
    start: (program, args) =>
      Promise.reject(new ProgramFailure(program, args, "not installed (package wireguard-go)", true)),
  };
  const made = new WireGuardInterface("wg0", machine, "wireguard.key").ensure();
  await expect(made).rejects.toThrow(/not installed \(package wireguard-go\)\. .*Unknown device type/);
});

test("port, mark and key are set only if they differ", async () => {
  const folder = await mkdtemp(join(tmpdir(), "gatehouse-key-"));
  const file = join(folder, "wireguard.key");
  const live = { key: "(none)", port: "0", mark: "off" };
  const changes: string[] = [];
  const programs: ProgramRunner = {
    read: async (_, args) => {
      const shown = { "public-key": live.key, "listen-port": live.port, fwmark: live.mark }[args[2] ?? ""];
      // A listing of the peers costs too much.
      if (shown === undefined) throw new Error(`nothing else is to be read: ${args.join(" ")}`);
      return `${shown}\n`;
    },
    change: async (_, args) => {
      changes.push(args.slice(2).join(" ").replace(file, "file"));
      if (args.includes("private-key")) live.key = await publicKeyOf(file);
      if (args.includes("listen-port")) live.port = args[3] ?? "";
      if (args.includes("fwmark")) live.mark = `0x${Number(args[3]).toString(16)}`;
    },
    start: () => Promise.reject(new Error("nothing is to be started")),
  };
  const wireGuard = new WireGuardInterface("wg0", programs, file);
  const setTwice = async (set: () => Promise<unknown>) => {
    for (let count = 0; count < 2; count++) await set();
    return changes.splice(0);
  };
  try {
    await publicKeyOf(file);
    expect(await setTwice(() => wireGuard.setPrivateKey())).toEqual(["private-key file"]);
    expect(await setTwice(() => wireGuard.setListenPort(51820))).toEqual(["listen-port 51820"]);
    expect(await setTwice(() => wireGuard.setListenPort(51821))).toEqual(["listen-port 51821"]);
    expect(await setTwice(() => wireGuard.setKey(0x6748))).toEqual(["fwmark 26440"]);
    await replaceKey(file);
    expect(await setTwice(() => wireGuard.setKey(0x6748))).toEqual(["private-key file"]);
    // wireguard-go forgets its port if another program has it.
    live.port = "0";
    expect(await setTwice(() => wireGuard.setListenPort(51821))).toEqual(["listen-port 51821"]);
    await replaceKey(file);
    live.port = "0";
    expect(await wireGuard.setPrivateKey()).toBe(true);
    expect(await wireGuard.setPrivateKey()).toBe(false);
    expect(await wireGuard.setListenPort(51821)).toBe(true);
    // A new port is no repair.
    expect(await wireGuard.setListenPort(51822)).toBe(false);
    expect(changes).toHaveLength(3);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

describe("changes of peers and routes", () => {
  const endpoint = "192.0.2.1:51820";

  /** A machine whose interface has these peers and routes. Records changes. */
  function machineWith(machine: { readonly peers?: readonly string[]; readonly routes?: readonly string[] }) {
    const changes: { readonly command: readonly string[]; readonly input: string | undefined }[] = [];
    const programs: ProgramRunner = {
      read: (program, args) => {
        const { peers = [], routes = [] } = machine;
        if (program === "wg") return Promise.resolve(["private\tpublic\t0\toff", ...peers, ""].join("\n"));
        return Promise.resolve(args.includes("-4") ? JSON.stringify(routes.map((dst) => ({ dst }))) : "");
      },
      change: async (program, args, input) => void changes.push({ command: [program, ...args], input }),
      start: () => Promise.reject(new Error("nothing is to be started")),
    };
    return { wireGuard: new WireGuardInterface("wg0", programs, "wireguard.key"), changes };
  }
  const livePeer = (key: string, ...allowedIps: readonly string[]) =>
    [key, "(none)", endpoint, allowedIps.join(","), "0", "0", "0", "off"].join("\t");

  test("removals come first, then one file has the peers that differ, each with its key last", async () => {
    const { wireGuard, changes } = machineWith({
      peers: [livePeer("same", "10.0.0.1/32"), livePeer("gone", "10.0.0.2/32"), livePeer("changed", "10.0.0.3/32")],
    });
    const wanted = new Map([
      ["same", { endpoint: undefined, allowedIps: ["10.0.0.1/32"] }],
      ["changed", { endpoint: undefined, allowedIps: ["10.0.0.3/32", "10.0.0.2/32"] }],
      ["new", { endpoint, allowedIps: ["fd64::1/128"] }],
      ["idle", { endpoint: undefined, allowedIps: [] }],
    ]);
    await wireGuard.setPeers(wanted);
    expect(changes).toEqual([
      { command: ["wg", "set", "wg0", "peer", "gone", "remove"], input: undefined },
      {
        command: ["wg", "addconf", "wg0", "/dev/stdin"],
        input: [
          ...["[Peer]", "AllowedIPs = 10.0.0.3/32, 10.0.0.2/32", "PublicKey = changed"],
          ...[
            "[Peer]",
            `Endpoint = ${endpoint}`,
            "PersistentKeepalive = 25",
            "AllowedIPs = fd64::1/128",
            "PublicKey = new",
          ],
          ...["[Peer]", "PublicKey = idle", ""],
        ].join("\n"),
      },
    ]);
  });

  test("peers that are as wanted keep their sessions and the endpoints that they moved to", async () => {
    const peers = [livePeer("roaming", "10.0.0.1/32", "10.0.0.0/24")];
    const { wireGuard, changes } = machineWith({ peers });
    const wanted = new Map([["roaming", { endpoint, allowedIps: ["10.0.0.0/24", "10.0.0.1"] }]]);
    await wireGuard.setPeers(wanted);
    // An earlier run of the agent may have set another endpoint.
    expect(changes).toHaveLength(1);
    await wireGuard.setPeers(wanted);
    expect(changes).toHaveLength(1);
  });

  test("changes by another program are reported, and those that were wanted are not", async () => {
    const machine = { peers: [livePeer("one", "10.0.0.1/32"), livePeer("two", "10.0.0.2/32")], routes: ["10.0.0.0/8"] };
    const { wireGuard } = machineWith(machine);
    const wanted = new Map(
      ["10.0.0.1/32", "10.0.0.2/32"].map((block, index) => {
        const key = ["one", "two"][index] ?? "";
        return [key, { endpoint: undefined, allowedIps: [block] }] as const;
      }),
    );
    const reset = async () => [await wireGuard.setPeers(wanted), await wireGuard.setRoutes(machine.routes)];
    expect(await reset()).toEqual([false, false]);
    expect(await reset()).toEqual([false, false]);
    machine.peers = [livePeer("one", "10.0.0.1/32", "10.0.0.9/32"), livePeer("two", "10.0.0.2/32")];
    expect(await wireGuard.setPeers(wanted)).toBe(true);
    machine.peers = [livePeer("one", "10.0.0.1/32")];
    expect(await wireGuard.setPeers(wanted)).toBe(true);
    machine.peers = [livePeer("one", "10.0.0.1/32"), livePeer("two", "10.0.0.2/32"), livePeer("three", "10.0.0.3/32")];
    expect(await wireGuard.setPeers(wanted)).toBe(true);
    machine.peers = [livePeer("one", "10.0.0.1/32"), livePeer("two", "10.0.0.2/32")];
    await wireGuard.remove();
    machine.peers = [];
    // The agent itself removed the interface.
    expect(await wireGuard.setPeers(wanted)).toBe(false);
    // The agent's own changes: a peer is removed, and another one moves.
    machine.peers = [livePeer("one", "10.0.0.1/32"), livePeer("two", "10.0.0.2/32")];
    const moved = new Map([["one", { endpoint, allowedIps: ["10.0.0.7/32"] }]]);
    expect(await wireGuard.setPeers(moved)).toBe(false);
    expect(await wireGuard.setRoutes(["10.0.0.0/8", "10.1.0.0/16"])).toBe(false);
    expect(await wireGuard.setRoutes(["10.0.0.0/8", "10.1.0.0/16"])).toBe(true);
  });

  test("a preshared key that another program set is removed and reported, and nothing else changes", async () => {
    const withKey = (key: string, block: string) => livePeer(key, block).replace("(none)", own);
    const machine = { peers: [livePeer("one", "10.0.0.1/32"), livePeer("two", "10.0.0.2/32")] };
    const { wireGuard, changes } = machineWith(machine);
    const wanted = new Map([
      ["one", { endpoint: undefined, allowedIps: ["10.0.0.1/32"] }],
      ["two", { endpoint: undefined, allowedIps: ["10.0.0.2/32"] }],
    ]);
    await wireGuard.setPeers(wanted);
    expect(changes).toEqual([]);
    machine.peers = [livePeer("one", "10.0.0.1/32"), withKey("two", "10.0.0.2/32")];
    expect(await wireGuard.setPeers(wanted)).toBe(true);
    const input = ["[Peer]", `PresharedKey = ${"A".repeat(43)}=`, "AllowedIPs = 10.0.0.2/32", "PublicKey = two", ""];
    expect(changes).toEqual([{ command: ["wg", "addconf", "wg0", "/dev/stdin"], input: input.join("\n") }]);
    // It may have been set before the agent started.
    const { wireGuard: next, changes: first } = machineWith(machine);
    expect(await next.setPeers(wanted)).toBe(false);
    expect(first).toHaveLength(1);
  });

  test("a family that the machine refuses does not affect the other one", async () => {
    for (const refused of ["-4", "-6"]) {
      const changes: string[] = [];
      const programs: ProgramRunner = {
        read: async () => "",
        change: async (program, args, input = "") => {
          if (args.includes(refused)) throw new ProgramFailure(program, args, "Permission denied");
          changes.push(input);
        },
        start: () => Promise.reject(new Error("nothing is to be started")),
      };
      const wireGuard = new WireGuardInterface("wg0", programs, "wireguard.key");
      await expect(wireGuard.setAddresses(["100.64.0.1/32", "fd64::1/128"])).rejects.toThrow("Permission denied");
      await expect(wireGuard.setRoutes(["100.64.0.0/10", "fd64::/64"])).rejects.toThrow("Permission denied");
      const [address, route] = refused === "-4" ? ["fd64::1/128", "fd64::/64"] : ["100.64.0.1/32", "100.64.0.0/10"];
      expect(changes).toEqual([expect.stringContaining(address), expect.stringContaining(route)]);
    }
  });

  test("an address that another program changed is reported, and a link that is up is not changed", async () => {
    const machine: { addresses: readonly string[]; flags: readonly string[] } = { addresses: [], flags: [] };
    const changes: string[] = [];
    const programs: ProgramRunner = {
      read: async (_, args) => {
        const own = machine.addresses.filter((text) => text.includes(":") === args.includes("-6"));
        const listed = own.map((text) => ({ local: text.split("/")[0], prefixlen: Number(text.split("/")[1]) }));
        return JSON.stringify([own.length === 0 ? {} : { flags: machine.flags, mtu: 1420, addr_info: listed }]);
      },
      change: async (_program, _args, input = "") => void changes.push(input),
      start: () => Promise.reject(new Error("nothing is to be started")),
    };
    const wireGuard = new WireGuardInterface("wg0", programs, "wireguard.key");
    const wanted = ["100.64.0.1/32", "fd64::1/128"];
    expect(await wireGuard.setAddresses(wanted)).toBe(false);
    machine.addresses = wanted;
    machine.flags = ["POINTOPOINT", "NOARP", "UP", "LOWER_UP"];
    changes.length = 0;
    expect(await wireGuard.setAddresses(wanted)).toBe(false);
    expect(changes).toEqual([]);
    machine.addresses = ["100.64.0.1/32"];
    expect(await wireGuard.setAddresses(wanted)).toBe(true);
    machine.addresses = wanted;
    machine.flags = ["POINTOPOINT", "NOARP"];
    changes.length = 0;
    expect(await wireGuard.setAddresses(wanted)).toBe(true);
    expect(changes).toEqual(["link set dev wg0 mtu 1420 up\n"]);
  });

  test("no argument grows with the number of blocks, and no list of blocks is too long", async () => {
    const blocks = Array.from({ length: 150_000 }, (_, n) => `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}/32`);
    const { wireGuard, changes } = machineWith({ routes: ["192.0.2.0/24"] });
    await wireGuard.setPeers(new Map([["gateway", { endpoint, allowedIps: blocks }]]));
    await wireGuard.setRoutes(blocks);
    expect(changes.map(({ command }) => command.join(" "))).toEqual(["wg addconf wg0 /dev/stdin", "ip -4 -batch -"]);
    expect(changes[0]?.input).toContain(blocks.join(", "));
    expect(changes[1]?.input?.split("\n")).toHaveLength(blocks.length + 2);
  });
});
