import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { EmbeddedPostgresError, systemErrorCode } from "./embedded-postgres-error.ts";

const run = promisify(execFile);
const pollMs = 50;

/** Signals that stop a server, with the milliseconds to wait before the next, harder signal. */
export const stopSteps = [
  { signal: "SIGINT", timeoutMs: 30_000 }, // fast shutdown: ends sessions, writes a checkpoint
  { signal: "SIGQUIT", timeoutMs: 10_000 }, // immediate: the next start recovers from the write-ahead log
  { signal: "SIGKILL", timeoutMs: 5_000 },
] as const;

/**
 * Returns the path of PostgreSQL's own lock file. Its first line is the process id of the server that runs on the
 * cluster.
 */
export function postmasterFile(clusterDir: string): string {
  return join(clusterDir, "postmaster.pid");
}

/**
 * Returns the process id in the cluster's lock file. That process may have ended, and its id may belong to another
 * program.
 */
export async function recordedPostmasterPid(clusterDir: string): Promise<number | undefined> {
  try {
    const firstLine = (await readFile(postmasterFile(clusterDir), "utf8")).split("\n", 1)[0] ?? "";
    const pid = Number.parseInt(firstLine, 10);
    return pid > 1 ? pid : undefined;
  } catch (error) {
    if (systemErrorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

/**
 * Stops a server that an earlier Gatehouse left on the cluster. Only the holder of the data folder's lock may call
 * this, because only the lock proves that the server is an orphan.
 *
 * @returns the process id of the orphan that was stopped; undefined if there was none
 * @throws EmbeddedPostgresError if the orphan does not end
 */
export async function stopOrphan(clusterDir: string): Promise<number | undefined> {
  const pid = await recordedPostmasterPid(clusterDir);
  if (pid === undefined || !(await isPostmasterOf(pid, clusterDir))) return undefined;
  for (const { signal, timeoutMs } of stopSteps) {
    send(pid, signal);
    const deadline = performance.now() + timeoutMs;
    while (performance.now() < deadline) {
      if (!(await isPostmasterOf(pid, clusterDir))) return pid;
      await pause(pollMs);
    }
  }
  throw new EmbeddedPostgresError(
    `PostgreSQL process ${pid}, left on ${clusterDir} by an earlier Gatehouse, does not stop.`,
    `Stop it (kill -9 ${pid}) and start again; if it stays, its disk may be hanging.`,
  );
}

/**
 * Whether the process is a running PostgreSQL on this cluster, according to its command line. A zombie has no command
 * line. An unrelated process that reused the id has a different one. (PostgreSQL's shared memory guards against a
 * server that this does not recognise, such as one started under the folder's former name.)
 */
export async function isPostmasterOf(pid: number, clusterDir: string): Promise<boolean> {
  if (process.platform === "linux") {
    const args = (await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")).split("\0");
    return args.some((arg, index) => arg === "-D" && args[index + 1] === clusterDir);
  }
  const listed = await run("ps", ["-ww", "-o", "stat=,args=", "-p", String(pid)]).catch(() => ({ stdout: "" }));
  return !listed.stdout.trimStart().startsWith("Z") && `${listed.stdout.trimEnd()} `.includes(` -D ${clusterDir} `);
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (systemErrorCode(error) !== "ESRCH") throw error;
  }
}
