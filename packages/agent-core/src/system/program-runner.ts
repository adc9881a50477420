/** How the agent speaks with the kernel: by `ip`, `wg`, `nft` and wireguard-go, started without a shell, arguments as a list. */
import { execFile, spawn } from "node:child_process";

export interface ProgramRunner {
  /** Runs a program that changes nothing. @throws ProgramFailure */
  read(program: string, args: readonly string[], input?: string): Promise<string>;
  /** Runs a program that changes something. @throws ProgramFailure */
  change(program: string, args: readonly string[], input?: string): Promise<void>;
  /** Starts a program that stays, also when the agent ends. @throws ProgramFailure where it cannot be started */
  start(program: string, args: readonly string[], environment: Readonly<Record<string, string>>): Promise<void>;
}

/** What a program said on standard error when it failed. */
export class ProgramFailure extends Error {
  constructor(program: string, args: readonly string[], reason: string) {
    const hint = reason.includes("Operation not permitted") ? " (needs root, or CAP_NET_ADMIN)" : "";
    super(`${[program, ...args.slice(0, 6)].join(" ")}: ${reason.trim().slice(0, longestReason)}${hint}`);
    this.name = "ProgramFailure";
  }
}

/** Where what is missing comes from, on Debian. */
const packages: Readonly<Record<string, string>> = {
  conntrack: "conntrack",
  ip: "iproute2",
  nft: "nftables",
  wg: "wireguard-tools",
  "wireguard-go": "wireguard-go",
};

function reasonOf(program: string, error: Error): string {
  const isMissing = "code" in error && error.code === "ENOENT";
  return isMissing ? `not installed (package ${packages[program] ?? program})` : error.message;
}

const longestReason = 1000;
const timeoutMs = 30_000;
const longestOutput = 64 * 1024 * 1024;
/** What the programs get of the agent's environment. `TZ`: nft reads and writes moments in it. */
const environment = {
  PATH: "/usr/sbin:/usr/bin:/sbin:/bin",
  LC_ALL: "C",
  TZ: "UTC",
  WG_ENDPOINT_RESOLUTION_RETRIES: "0",
};

function run(program: string, args: readonly string[], input = ""): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { env: environment, timeout: timeoutMs, maxBuffer: longestOutput };
    const child = execFile(program, [...args], options, (error, output, errors) => {
      if (error === null) resolve(output);
      else reject(new ProgramFailure(program, args, errors === "" ? reasonOf(program, error) : errors));
    });
    // A program that ends before it has read everything says itself what was wrong.
    child.stdin?.on("error", () => {});
    child.stdin?.end(input);
  });
}

export const systemPrograms: ProgramRunner = {
  read: run,
  change: async (program, args, input) => void (await run(program, args, input)),
  start: (program, args, more) =>
    new Promise((resolve, reject) => {
      const child = spawn(program, [...args], { env: { ...environment, ...more }, stdio: "ignore", detached: true });
      child.once("spawn", () => {
        child.unref();
        resolve();
      });
      child.once("error", (error) => reject(new ProgramFailure(program, args, reasonOf(program, error))));
    }),
};

/** Changes nothing: writes what would be run. What is read is as on a machine that has nothing yet. */
export function printingPrograms(write: (text: string) => void): ProgramRunner {
  const print = (program: string, args: readonly string[], input?: string) => {
    write(`${[program, ...args].join(" ")}\n${input === undefined ? "" : `${input.trimEnd()}\n\n`}`);
    return Promise.resolve();
  };
  const read = (program: string, args: readonly string[]) =>
    args.includes("listen-port")
      ? Promise.reject(new ProgramFailure(program, args, "no such interface"))
      : Promise.resolve("");
  return { read, change: print, start: (program, args) => print(program, args) };
}
