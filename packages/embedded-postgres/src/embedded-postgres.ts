import { execFile } from "node:child_process";
import { chmod, mkdir, realpath, stat } from "node:fs/promises";
import { dirname, join, sep } from "node:path";
import { promisify } from "node:util";
import { findBinaries, type PostgresBinaries } from "./binaries.ts";
import { lockDataFolder } from "./data-folder-lock.ts";
import { EmbeddedPostgresError, errorText, systemErrorCode, withFileRemedy } from "./embedded-postgres-error.ts";
import { ensureCluster, superuser } from "./initialise-cluster.ts";
import type { ServerConnection } from "./readiness.queries.ts";
import { chooseServerAccount, ensureFolderCanBeEntered, type ServerAccount, spawnAs } from "./server-account.ts";
import type { LogEvent } from "./server-log.ts";
import { type ServerPlan, startServer } from "./server-process.ts";
import { serverPort, serverSocketName } from "./server-settings.ts";
import { chooseSocketDirectory, removeSocketDirectory } from "./socket-directory.ts";
import { supervise } from "./supervise.ts";

export { DataFolderInUseError, EmbeddedPostgresError, systemErrorCode } from "./embedded-postgres-error.ts";

const databaseName = "gatehouse";
const run = promisify(execFile);

export interface EmbeddedPostgresOptions {
  /** Absolute path of Gatehouse's data folder. The folder is created if it does not exist. */
  readonly dataDir: string;
  log(event: LogEvent): void;
  /** More server settings, by their names in postgresql.conf; tests set `fsync` to `off`. */
  readonly settings?: Readonly<Record<string, string>>;
}

export interface EmbeddedPostgres {
  /** The connection for `pg.Client`: the superuser on the unix socket. */
  readonly connection: ServerConnection;
  /** Process id of the server; undefined while it is down. */
  readonly pid: number | undefined;
  /** Stops the server, by force if it does not shut down, and unlocks the data folder. Can be called again. */
  stop(): Promise<void>;
}

/**
 * Starts Gatehouse's own PostgreSQL in `<dataDir>/postgres` and keeps it running until `stop`, or until this process
 * ends for any reason.
 *
 * @throws EmbeddedPostgresError if PostgreSQL cannot run here; its remedy says what to do
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const { log, settings = {} } = options;
  const binaries = await findBinaries();
  const dataDir = await makeDataFolder(options.dataDir);
  const lock = await lockDataFolder(dataDir);
  try {
    const clusterDir = join(dataDir, "postgres");
    const account = await chooseServerAccount(clusterDir);
    const connection = connectionWithin(dataDir);
    const socketDirectory = connection.host;
    for (const folder of new Set([dataDir, dirname(socketDirectory)])) {
      await ensureFolderCanBeEntered(folder, account, "Set GATEHOUSE_DATA_DIR to a folder elsewhere.");
    }
    const majorVersion = await binariesVersion(binaries, account);
    const made = await ensureCluster({
      binaries,
      clusterDir,
      account,
      majorVersion,
      durable: settings.fsync !== "off",
    });
    if (made) log({ level: "info", message: `made a new PostgreSQL ${majorVersion} database in ${clusterDir}` });

    const plan: ServerPlan = { binaries, dataDir, clusterDir, account, connection, settings, log };
    const first = await startServer(plan, new AbortController().signal);
    const supervision = supervise(first, (abort) => startServer(plan, abort), log);
    const stop = async () => {
      await supervision.stop();
      await removeSocketDirectory(socketDirectory, serverSocketName);
      await lock.release();
    };
    let stopped: Promise<void> | undefined;
    return {
      connection,
      get pid() {
        return supervision.pid;
      },
      stop: () => (stopped ??= stop()),
    };
  } catch (error) {
    await lock.release();
    throw error;
  }
}

/**
 * Returns the connection to the PostgreSQL that another Gatehouse runs on a data folder. Requires that Gatehouse's
 * user, or root.
 *
 * @param dataDir an existing folder
 */
export async function runningPostgres(dataDir: string): Promise<ServerConnection> {
  return connectionWithin(await realpath(dataDir));
}

/** @param dataDir absolute, without symbolic links */
function connectionWithin(dataDir: string): ServerConnection {
  const host = chooseSocketDirectory(dataDir, "socket", serverSocketName);
  return { host, port: serverPort, user: superuser, database: databaseName };
}

/**
 * Creates the data folder. As root, the mode lets others traverse the folder but not list it, because PostgreSQL's
 * account must reach its own folders in it. Everything in it is closed to others by its own mode.
 *
 * @returns its path without symbolic links, so that every name of the folder leads to the same lock
 */
export async function makeDataFolder(dataDir: string): Promise<string> {
  return withFileRemedy("make the data folder", dataDir, async () => {
    if (await makeFolder(dataDir)) await chmod(dataDir, process.getuid?.() === 0 ? 0o711 : 0o700);
    return realpath(dataDir);
  });
}

/**
 * Creates a folder and its parents, one at a time. Node's recursive mkdir never ends if the system reports ENOENT
 * although the parent exists, as in /proc.
 *
 * @returns whether this call created the folder
 */
async function makeFolder(path: string): Promise<boolean> {
  if (await isFolder(path)) return false;
  if (dirname(path) !== path) await makeFolder(dirname(path));
  try {
    await mkdir(path);
    return true;
  } catch (error) {
    if (await isFolder(path)) return false; // another start created it concurrently
    throw error;
  }
}

async function isFolder(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch (error) {
    if (systemErrorCode(error) === "ENOENT") return false;
    throw error;
  }
}

async function binariesVersion(binaries: PostgresBinaries, account: ServerAccount | undefined): Promise<string> {
  await ensureFolderCanBeEntered(
    await realpath(dirname(binaries.postgres)),
    account,
    "Install Gatehouse in a folder elsewhere.",
  );
  try {
    const { stdout } = await run(binaries.postgres, ["--version"], { ...spawnAs(account), cwd: sep });
    const version = /(\d+)\.\d+/.exec(stdout)?.[1];
    if (version === undefined) throw new Error(`it answered ${JSON.stringify(stdout)}`);
    return version;
  } catch (error) {
    const unreadable = systemErrorCode(error) === "EACCES";
    throw new EmbeddedPostgresError(
      `The PostgreSQL server of ${binaries.packageName} does not run on this machine: ${errorText(error)}`,
      unreadable
        ? `Let its user read and run the package: chmod -R o+rX '${binaries.packageDir}'`
        : "It needs a Linux with glibc, or macOS. Set GATEHOUSE_DATABASE_URL to a PostgreSQL 15 or newer of yours.",
      { cause: error },
    );
  }
}
