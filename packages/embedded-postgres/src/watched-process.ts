import { type ChildProcess, spawn } from "node:child_process";
import { Writable } from "node:stream";
import { type ServerAccount, spawnAs } from "./server-account.ts";

/**
 * Replaces itself with the program, after starting a tiny shell that reads a pipe whose other end only Gatehouse holds.
 * However Gatehouse ends, kill -9 included, the kernel closes that pipe, and the shell stops the program. It sends the
 * given signal first, and SIGQUIT after 30 s if the program's lock file still names the program. A reused process id is
 * therefore never signalled. A line on the pipe means that the program has ended by itself.
 *
 * `$$` stays the process id of the program. The shell is forked twice so that it is not a child of PostgreSQL, which
 * would interpret the exit of an unknown child as a crash.
 */
const watcherScript = `
signal=$1 lock=$2
shift 2
( (
  read -r word <&3 && exit
  kill -s "$signal" $$
  [ -n "$lock" ] || exit
  seconds=0
  while read -r pid <"$lock" && [ "$pid" = $$ ]; do
    [ $seconds -lt 30 ] || { kill -s QUIT $$; exit; }
    seconds=$((seconds + 1))
    sleep 1
  done
) >/dev/null 2>&1 & )
exec 3<&-
exec "$@"
`;

const lastOutputTimeoutMs = 250;

export interface WatchedProgram {
  readonly command: string;
  readonly args: readonly string[];
  readonly account: ServerAccount | undefined;
  /** Folder that the account can enter. */
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Signal for an orderly end of the program. */
  readonly stopSignal: "INT" | "TERM";
  /** File whose first line is the program's process id for as long as it runs. */
  readonly lockFile?: string;
  /** Called with each piece of the program's output, stdout and stderr together. */
  onOutput(text: string): void;
}

export interface ProgramEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface WatchedProcess {
  readonly pid: number;
  /** Settles when the program has ended and was reaped; never rejects. */
  readonly ended: Promise<ProgramEnd>;
  /** Does nothing once the program has ended, so it can never signal an unrelated process with the same id. */
  kill(signal: NodeJS.Signals): void;
}

/**
 * Starts a program that does not outlive Gatehouse. The program has its own session, so Ctrl-C at the terminal reaches
 * only Gatehouse, which drains requests before it stops PostgreSQL.
 *
 * @throws the system's error if the program cannot be started
 */
export async function startWatchedProcess(program: WatchedProgram): Promise<WatchedProcess> {
  const args = ["-c", watcherScript, "gatehouse-watcher", program.stopSignal, program.lockFile ?? "", program.command];
  const child = spawn("/bin/sh", [...args, ...program.args], {
    ...spawnAs(program.account),
    cwd: program.cwd,
    env: { PATH: process.env.PATH ?? "/usr/bin:/bin", LC_ALL: "C", TZ: "UTC", ...program.env },
    detached: true,
    stdio: ["ignore", "pipe", "pipe", "pipe"],
  });
  const pid = await startedPid(child);
  for (const output of [child.stdout, child.stderr]) {
    output?.setEncoding("utf8").on("data", (text: string) => program.onOutput(text));
  }
  const lifeline = child.stdio[3];
  if (lifeline instanceof Writable) lifeline.on("error", () => {}); // the watcher may have ended first
  const ended = new Promise<ProgramEnd>((resolve) => {
    child.once("exit", (code, signal) => {
      if (lifeline instanceof Writable) lifeline.end("ended\n");
      // The last output explains the exit, so wait for it, but not for a backend that still holds the pipe.
      child.once("close", () => resolve({ code, signal }));
      setTimeout(() => resolve({ code, signal }), lastOutputTimeoutMs).unref();
    });
  });
  return { pid, ended, kill: (signal) => void child.kill(signal) };
}

export function describeEnd(end: ProgramEnd): string {
  return end.signal === null ? `exit code ${end.code}` : `signal ${end.signal}`;
}

function startedPid(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("spawn", () => (child.pid === undefined ? reject(new Error("no process id")) : resolve(child.pid)));
  });
}
