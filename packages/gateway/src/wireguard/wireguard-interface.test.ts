import { expect, test } from "vitest";
import { ProgramFailure, type ProgramRunner } from "../programs/program-runner.ts";
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
