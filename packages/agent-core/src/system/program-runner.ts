/** Runs `ip`, `wg`, `nft` and wireguard-go, with arguments as a list. Lists of any length go into their input. */
import { execFile, spawn } from "node:child_process";

export interface ProgramRunner {
  /** Runs a program that changes nothing. @throws ProgramFailure */
  read(program: string, args: readonly string[], input?: string): Promise<string>;
  /** Runs a program that changes something. @throws ProgramFailure */
  change(program: string, args: readonly string[], input?: string): Promise<void>;
  /** Starts a program that outlives the agent. @throws ProgramFailure if it cannot be started */
  start(program: string, args: readonly string[], environment: Readonly<Record<string, string>>): Promise<void>;
}

/** The name of the input, for programs that only read files. */
export const inputFile = "/dev/stdin";

/** A failed program, with its standard error. */
export class ProgramFailure extends Error {
  /** Whether the program is not installed. */
  readonly isMissing: boolean;

  constructor(program: string, args: readonly string[], reason: string, isMissing = false) {
    const hint = reason.includes("Operation not permitted") ? " (needs root, or CAP_NET_ADMIN)" : "";
    super(`${commandText(program, args)}: ${reason.trim().slice(0, longestReason)}${hint}`);
    this.name = "ProgramFailure";
    this.isMissing = isMissing;
  }
}

function commandText(program: string, args: readonly string[]): string {
  const text = [program, ...args.slice(0, 6)].join(" ");
  return text.length > longestCommand ? `${text.slice(0, longestCommand)}…` : text;
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

const longestCommand = 200;
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

/** Node emits some errors of a start, and throws others: E2BIG if an argument is longer than 128 KiB. */
function startChild<Child>(program: string, args: readonly string[], start: () => Child): Child {
  try {
    return start();
  } catch (error) {
    throw failureOf(program, args, error as Error); // of Node
  }
}

/**
 * Node connects the input of a program to a socket, which cannot be opened by name. `cat` replaces it by a pipe. The
 * program must refuse an input that is incomplete, because the agent can end before it has written all of it.
 */
function withPipe(program: string, args: readonly string[]): readonly [program: string, args: readonly string[]] {
  return args.includes(inputFile) ? ["sh", ["-c", 'cat | "$0" "$@"', program, ...args]] : [program, args];
}

function run(program: string, args: readonly string[], input = ""): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { env: environment, timeout: timeoutMs, maxBuffer: longestOutput };
    const [file, list] = withPipe(program, args);
    const child = startChild(program, args, () =>
      execFile(file, [...list], options, (error, output, errors) => {
        if (error === null) resolve(output);
        else reject(failureOf(program, args, error, errors));
      }),
    );
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
      const options = { env: { ...environment, ...more }, stdio: "ignore", detached: true } as const;
      const child = startChild(program, args, () => spawn(program, [...args], options));
      child.once("spawn", () => {
        child.unref();
        resolve();
      });
      child.once("error", (error) => reject(failureOf(program, args, error)));
    }),
};

/** Prints the commands of changes instead of running them. Reads return the state of a machine without a tunnel. */
export function printingPrograms(write: (text: string) => void): ProgramRunner {
  let hasInterface = false;
  const print = (program: string, args: readonly string[], input?: string) => {
    hasInterface ||= args.includes("wireguard");
    write(`${[program, ...args].join(" ")}\n${input === undefined ? "" : `${input.trimEnd()}\n\n`}`);
    return Promise.resolve();
  };
  const read = (program: string, args: readonly string[]) =>
    args.includes("listen-port") && !hasInterface
      ? Promise.reject(new ProgramFailure(program, args, "no such interface"))
      : Promise.resolve("");
  return { read, change: print, start: (program, args) => print(program, args) };
}
