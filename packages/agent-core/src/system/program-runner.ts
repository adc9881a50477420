/** Runs `ip`, `wg`, `nft` and wireguard-go, without a shell and with arguments as a list. */
import { execFile, spawn } from "node:child_process";

export interface ProgramRunner {
  /** Runs a program that changes nothing. @throws ProgramFailure */
  read(program: string, args: readonly string[], input?: string): Promise<string>;
  /** Runs a program that changes something. @throws ProgramFailure */
  change(program: string, args: readonly string[], input?: string): Promise<void>;
  /** Starts a program that outlives the agent. @throws ProgramFailure if it cannot be started */
  start(program: string, args: readonly string[], environment: Readonly<Record<string, string>>): Promise<void>;
}

/** A failed program, with its standard error. */
export class ProgramFailure extends Error {
  /** Whether the program is not installed. */
  readonly isMissing: boolean;

  constructor(program: string, args: readonly string[], reason: string, isMissing = false) {
    const hint = reason.includes("Operation not permitted") ? " (needs root, or CAP_NET_ADMIN)" : "";
    super(`${[program, ...args.slice(0, 6)].join(" ")}: ${reason.trim().slice(0, longestReason)}${hint}`);
    this.name = "ProgramFailure";
    this.isMissing = isMissing;
  }
}

/** The Debian packages of the programs. */
const packages: Readonly<Record<string, string>> = {
  conntrack: "conntrack",
  ip: "iproute2",
  nft: "nftables",
  wg: "wireguard-tools",
  "wireguard-go": "wireguard-go",
};

/** @param errors the standard error of the program */
function failureOf(program: string, args: readonly string[], error: Error, errors = ""): ProgramFailure {
  if (errors !== "") return new ProgramFailure(program, args, errors);
  const isMissing = "code" in error && error.code === "ENOENT";
  const reason = isMissing ? `not installed (package ${packages[program] ?? program})` : error.message;
  return new ProgramFailure(program, args, reason, isMissing);
}

const longestReason = 1000;
const timeoutMs = 30_000;
const longestOutput = 64 * 1024 * 1024;
/** The environment of the programs. nft reads and writes times in the time zone `TZ`. */
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
      else reject(failureOf(program, args, error, errors));
    });
    // A program that exits before it has read its input reports the reason itself.
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
      child.once("error", (error) => reject(failureOf(program, args, error)));
    }),
};

/** Prints the commands of changes instead of running them. Reads return the state of a machine without a tunnel. */
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
