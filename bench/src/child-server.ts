import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

/**
 * The same flags as `npm start`. A young generation of 4 MiB, and an old one of at most 2.25 times its live objects,
 * keep memory low.
 */
const nodeFlags = ["--max-semi-space-size=4", "--heap-growing-percent=125"];

/** A program of this folder that serves until it is stopped. */
export interface ChildServer<Announcement> {
  /** The line that the program printed when it was ready. */
  readonly announcement: Announcement;
  /** Resident memory of the process, current and peak, in MiB. Undefined if the system has no /proc. */
  memory(): { readonly now: number; readonly highest: number } | undefined;
  /** Processor time that the process has used, in seconds. Undefined if the system has no /proc. */
  processorSeconds(): number | undefined;
  /** Processor time that the process's main thread has used, in seconds. Undefined if the system has no /proc. */
  mainThreadSeconds(): number | undefined;
  /** The system calls with which the process has written. Undefined if the system has no /proc. */
  writeCalls(): number | undefined;
  stop(): Promise<void>;
}

/**
 * @param input written to the program's standard input
 * @param flags further flags of Node.js
 * @param environment further environment variables
 */
export async function startChild<Announcement>(
  module: string,
  input = "",
  flags: readonly string[] = [],
  environment: Readonly<Record<string, string>> = {},
): Promise<ChildServer<Announcement>> {
  const program = fileURLToPath(new URL(module, import.meta.url));
  const child: ChildProcess = spawn(process.execPath, [...nodeFlags, ...flags, program], {
    stdio: ["pipe", "pipe", "inherit"],
    env: { ...process.env, ...environment },
  });
  child.stdin?.end(input);
  if (child.stdout === null) throw new Error("the program's output is not to be had");
  const line = await Promise.race([
    once(createInterface(child.stdout), "line"),
    once(child, "exit").then(() => Promise.reject(new Error(`${module} ended before it served`))),
  ]);
  return {
    announcement: JSON.parse(String(line[0])) as Announcement, // as the module prints it
    memory() {
      const [now, highest] = [memoryOf(child.pid, "VmRSS"), memoryOf(child.pid, "VmHWM")];
      return now === undefined || highest === undefined ? undefined : { now, highest };
    },
    processorSeconds: () => processorSecondsOf(child.pid),
    mainThreadSeconds: () => statisticsOf(child.pid, `/proc/${child.pid}/task/${child.pid}/stat`)?.seconds,
    writeCalls: () => writeCallsOf(child.pid),
    async stop() {
      if (child.exitCode !== null) return;
      child.kill("SIGTERM");
      await once(child, "exit");
    },
  };
}

/**
 * Processor time of a process and all its children, also of ended ones, in seconds. Undefined if the system has no
 * /proc.
 */
export function processorSecondsOfGroup(pid: number | undefined): number | undefined {
  const own = statisticsOf(pid);
  if (own === undefined) return undefined;
  const children = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((name) => statisticsOf(Number(name)))
    .filter((statistics) => statistics?.parent === pid);
  return children.reduce((sum, child) => sum + (child?.seconds ?? 0), own.seconds + own.secondsOfEndedChildren);
}

/** User and system time. */
export function processorSecondsOf(pid: number | undefined): number | undefined {
  return statisticsOf(pid)?.seconds;
}

/** Linux reports times in hundredths of a second in /proc. */
function statisticsOf(
  pid: number | undefined,
  file = `/proc/${pid}/stat`,
):
  | { readonly parent: number | undefined; readonly seconds: number; readonly secondsOfEndedChildren: number }
  | undefined {
  if (process.platform !== "linux" || pid === undefined) return undefined;
  try {
    // The second field, the program's name, may hold any characters. The other fields are counted from its closing
    // parenthesis.
    const [, fields = ""] = readFileSync(file, "utf8").split(/\) (?!.*\) )/s);
    const numbers = fields.split(" ").map(Number);
    const [user = Number.NaN, system = Number.NaN, endedUser = 0, endedSystem = 0] = numbers.slice(11, 15);
    if (Number.isNaN(user + system)) return undefined;
    return {
      parent: numbers[1],
      seconds: (user + system) / 100,
      secondsOfEndedChildren: (endedUser + endedSystem) / 100,
    };
  } catch {
    return undefined;
  }
}

function writeCallsOf(pid: number | undefined): number | undefined {
  if (process.platform !== "linux" || pid === undefined) return undefined;
  try {
    const count = /^syscw: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, "utf8"))?.[1];
    return count === undefined ? undefined : Number(count);
  } catch {
    return undefined;
  }
}

/** Peak resident memory of a running process, in MiB. Undefined if the system has no /proc or no such process. */
export function highestMemory(pid: number | undefined): number | undefined {
  return memoryOf(pid, "VmHWM");
}

function memoryOf(pid: number | undefined, field: "VmRSS" | "VmHWM"): number | undefined {
  if (process.platform !== "linux" || pid === undefined) return undefined;
  try {
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    const kibibytes = new RegExp(`^${field}:\\s+(\\d+) kB`, "m").exec(status)?.[1];
    return kibibytes === undefined ? undefined : Number(kibibytes) / 1024;
  } catch {
    return undefined;
  }
}
