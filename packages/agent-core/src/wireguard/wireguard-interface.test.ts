import { describe, expect, test } from "vitest";
import { ProgramFailure, type ProgramRunner, systemPrograms } from "../system/program-runner.ts";
import { WireGuardInterface } from "./wireguard-interface.ts";

const own = `${"A".repeat(43)}=`;
const another = `${"B".repeat(42)}A=`;
const former = `${"C".repeat(42)}A=`;

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
  return new WireGuardInterface("wg0", programs, "wireguard.key").checkOwn(own, former);
}

test.each([
  ["it does not exist", undefined, false],
  ["it has this agent's key", own, true],
  ["it has the key that this agent had before", former, true],
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

test("the runner of programs says which package has a missing program", async () => {
  const run = systemPrograms.read("conntrack-that-nobody-has", []);
  await expect(run).rejects.toMatchObject({ isMissing: true, message: expect.stringContaining("not installed") });
  await expect(systemPrograms.read("ip", ["no-such-object"])).rejects.toMatchObject({ isMissing: false });
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
