import { setTimeout as pause } from "node:timers/promises";
import type { PostgresBinaries } from "./binaries.ts";
import { EmbeddedPostgresError, remedyForServerOutput } from "./embedded-postgres-error.ts";
import { isPostmasterOf, postmasterFile, recordedPostmasterPid, stopOrphan, stopSteps } from "./postmaster.ts";
import { type ServerConnection, waitUntilReady } from "./readiness.queries.ts";
import type { ServerAccount } from "./server-account.ts";
import { createServerLog, type LogEvent } from "./server-log.ts";
import { serverArguments, serverSocketName } from "./server-settings.ts";
import { clearSocketDirectory, makeSocketDirectory } from "./socket-directory.ts";
import { describeEnd, startWatchedProcess, type WatchedProcess } from "./watched-process.ts";

/** The time that sessions of a killed server have to notice its end and exit, in milliseconds. */
const leftSessionsTimeoutMs = 10_000;
const retryMs = 200;

export interface ServerPlan {
  readonly binaries: PostgresBinaries;
  readonly dataDir: string;
  readonly clusterDir: string;
  readonly account: ServerAccount | undefined;
  readonly connection: ServerConnection;
  readonly settings: Readonly<Record<string, string>>;
  log(event: LogEvent): void;
}

/**
 * Starts the server on its cluster and waits until it accepts connections. Only the holder of the data folder's lock
 * may call this: a server that still runs on the cluster is an orphan, and is stopped.
 *
 * @param abort cancels the start: the server is stopped before this rejects
 * @throws EmbeddedPostgresError with the server's last lines if it does not start
 */
export async function startServer(plan: ServerPlan, abort: AbortSignal): Promise<WatchedProcess> {
  const deadline = performance.now() + leftSessionsTimeoutMs;
  for (;;) {
    const outcome = await tryToStart(plan, abort);
    if (outcome.server !== undefined) return outcome.server;
    const sessionsLeft = outcome.output.includes("pre-existing shared memory block");
    if (!sessionsLeft || abort.aborted || performance.now() > deadline) {
      throw new EmbeddedPostgresError(
        `PostgreSQL did not start on ${plan.clusterDir} (${outcome.reason}). Its last lines:\n${outcome.output}`,
        remedyForServerOutput(outcome.output, plan.dataDir),
      );
    }
    await pause(retryMs);
  }
}

type StartOutcome =
  | { readonly server: WatchedProcess }
  | { readonly server: undefined; readonly reason: string; readonly output: string };

async function tryToStart(plan: ServerPlan, abort: AbortSignal): Promise<StartOutcome> {
  const { clusterDir, connection, log } = plan;
  const orphan = await stopOrphan(clusterDir);
  if (orphan !== undefined) log({ level: "warn", message: `stopped PostgreSQL process ${orphan} of an earlier run` });
  // Files in the socket folder belong to a server that no longer runs. Cleaners of /tmp may also have removed the
  // folder.
  await makeSocketDirectory(connection.host, plan.account);
  await clearSocketDirectory(connection.host, serverSocketName);

  const serverLog = createServerLog(log);
  const server = await startWatchedProcess({
    command: plan.binaries.postgres,
    args: serverArguments(clusterDir, connection.host, plan.settings),
    account: plan.account,
    cwd: clusterDir,
    env: await environmentForStaleLockFile(clusterDir),
    stopSignal: "INT",
    lockFile: postmasterFile(clusterDir),
    onOutput: serverLog.write,
  });
  const over = new AbortController();
  void server.ended.then(() => over.abort());
  const readiness = await waitUntilReady(connection, AbortSignal.any([over.signal, abort]));
  if (readiness.ready) return { server };
  const endedByItself = over.signal.aborted;
  await stopServer(server);
  const reason = endedByItself ? describeEnd(await server.ended) : readiness.reason;
  return { server: undefined, reason, output: serverLog.tail() };
}

/** Stops the server, by force if it does not shut down. Returns once it has ended. */
export async function stopServer(server: WatchedProcess): Promise<void> {
  for (const { signal, timeoutMs } of stopSteps) {
    server.kill(signal);
    const timer = new AbortController();
    const timeout = pause(timeoutMs, "late", { signal: timer.signal }).catch(() => "cancelled");
    const outcome = await Promise.race([server.ended, timeout]);
    timer.abort();
    if (outcome !== "late") return;
  }
}

/**
 * PostgreSQL refuses to start while the process in its lock file exists. That process may be a zombie that was never
 * reaped, or another program with the same process id. PostgreSQL makes an exception for the process in
 * PG_GRANDPARENT_PID, which pg_ctl uses for the same purpose. The guard by shared memory remains in force. Only safe
 * after stopOrphan.
 */
async function environmentForStaleLockFile(clusterDir: string): Promise<Record<string, string>> {
  const pid = await recordedPostmasterPid(clusterDir);
  if (pid === undefined || (await isPostmasterOf(pid, clusterDir))) return {};
  return { PG_GRANDPARENT_PID: String(pid) };
}
