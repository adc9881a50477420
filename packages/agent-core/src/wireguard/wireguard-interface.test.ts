import { expect, test } from "vitest";
import { ProgramFailure, type ProgramRunner } from "../system/program-runner.ts";
import { WireGuardInterface } from "./wireguard-interface.ts";

const own = `${"A".repeat(43)}=`;
const another = `${"B".repeat(42)}A=`;

/** @param key undefined: it is no interface of WireGuard */
function checked(key: string | undefined, isThere: boolean): Promise<void> {
  const programs: ProgramRunner = {
    read: (program, args) => {
      if (program === "wg" && key !== undefined) return Promise.resolve(`${key}\n`);
      if (program === "ip" && isThere) return Promise.resolve("7: hx0");
      return Promise.reject(new ProgramFailure(program, args, "No such device"));
    },
    change: () => Promise.reject(new Error("nothing is to be changed")),
    start: () => Promise.reject(new Error("nothing is to be started")),
  };
  return new WireGuardInterface("wg0", programs, "wireguard.key").checkOwn(own);
}

test.each([
  ["there is none", undefined, false],
  ["it has this agent's key", own, true],
  ["it was begun with, and has no key yet", "(none)", true],
])("an interface is taken where %s", async (_, key, isThere) => {
  await expect(checked(key, isThere)).resolves.toBeUndefined();
});

test.each([
  ["has another key", another, "with another key"],
  ["is none of WireGuard's", undefined, "No such device"],
])("an interface is left alone where it %s", async (_, key, why) => {
  await expect(checked(key, true)).rejects.toThrow(why);
  await expect(checked(key, true)).rejects.toThrow("ip link delete dev wg0");
});

/** A machine whose kernel has no WireGuard, and where a wireguard-go of before still has the name for so many questions. */
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
    // It ends at once while another one has the name.
    this.#serves = this.#lingers === 0;
  }
}

test("wireguard-go is started again where the one before still had the name", async () => {
  const machine = new LingeringMachine({ lingers: 5, serves: false });
  await new WireGuardInterface("wg0", machine, "wireguard.key").ensure();
  expect(machine.started).toBe(2);
});

test("an interface is gone only when nothing answers for it any more", async () => {
  const machine = new LingeringMachine({ lingers: 5, serves: true });
  const wireGuard = new WireGuardInterface("wg0", machine, "wireguard.key");
  await wireGuard.remove();
  expect(machine.deleted).toBe(1);
  expect(await wireGuard.isThere()).toBe(false);
});
