import { randomBytes } from "node:crypto";
import { chmod, lchown, lstat, mkdir, open, readdir, readFile, rename, rm } from "node:fs/promises";
import { dirname, join, sep } from "node:path";
import type { PostgresBinaries } from "./binaries.ts";
import {
  EmbeddedPostgresError,
  remedyForServerOutput,
  systemErrorCode,
  withFileRemedy,
} from "./embedded-postgres-error.ts";
import { giveTo, type ServerAccount } from "./server-account.ts";
import { describeEnd, startWatchedProcess } from "./watched-process.ts";

/** Role that owns the cluster: the superuser that migrations run as. */
export const superuser = "gatehouse_owner";

const unfinishedPrefix = "postgres.unfinished-";
const outputKept = 4_000;
const linesShown = 6;

export interface ClusterPlan {
  readonly binaries: PostgresBinaries;
  readonly clusterDir: string;
  readonly account: ServerAccount | undefined;
  /** Major version of the binaries, such as "18". */
  readonly majorVersion: string;
  /** False in tests, which do not wait for the disk. */
  readonly durable: boolean;
}

/**
 * Ensures that the cluster exists, is complete, and can be opened by these binaries. initdb cannot resume after an
 * interruption. It therefore works in a folder beside the cluster, which is renamed once it is complete and on disk.
 *
 * @returns whether this call created the cluster
 * @throws EmbeddedPostgresError if initdb fails, or if the cluster has another major version or owner
 */
export async function ensureCluster(plan: ClusterPlan): Promise<boolean> {
  const { clusterDir } = plan;
  return withFileRemedy("prepare PostgreSQL's folder", clusterDir, async () => {
    await removeUnfinished(dirname(clusterDir));
    if (await holdsFiles(clusterDir)) {
      await checkCluster(plan);
      return false;
    }
    await makeCluster(plan);
    return true;
  });
}

async function makeCluster(plan: ClusterPlan): Promise<void> {
  const { clusterDir, account } = plan;
  const parent = dirname(clusterDir);
  const unfinished = join(parent, `${unfinishedPrefix}${randomBytes(6).toString("hex")}`);
  await mkdir(unfinished, { mode: 0o700 });
  if (account !== undefined) await lchown(unfinished, account.uid, account.gid);
  try {
    await runInitdb(plan, unfinished);
    await rename(unfinished, clusterDir);
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true, maxRetries: 5 }).catch(() => {});
    throw error;
  }
  if (plan.durable) await syncFolder(parent);
}

async function runInitdb(plan: ClusterPlan, target: string): Promise<void> {
  let output = "";
  const initdb = await startWatchedProcess({
    command: plan.binaries.initdb,
    args: [
      `--pgdata=${target}`,
      `--username=${superuser}`,
      "--encoding=UTF8",
      // PostgreSQL's own collation, not the C library's, sorts text identically on every machine, regardless of its
      // locales.
      "--locale=C",
      "--locale-provider=builtin",
      "--builtin-locale=C.UTF-8",
      "--data-checksums",
      // Safe because the socket is in a folder that only its owner can enter; see socket-directory.ts.
      "--auth-local=trust",
      "--auth-host=reject",
      "--no-instructions",
      ...(plan.durable ? [] : ["--no-sync"]),
    ],
    account: plan.account,
    cwd: sep,
    stopSignal: "TERM",
    onOutput: (text) => {
      output = (output + text).slice(-outputKept);
    },
  });
  const end = await initdb.ended;
  if (end.code === 0) return;
  throw new EmbeddedPostgresError(
    `PostgreSQL could not set up its folder ${target} (${describeEnd(end)}). Its last lines:\n${lastLines(output)}`,
    remedyForServerOutput(output, dirname(target)),
  );
}

function lastLines(output: string): string {
  const lines = output.split("\n").filter((line) => line.trim() !== "");
  return lines.slice(-linesShown).join("\n");
}

async function checkCluster({ clusterDir, account, majorVersion }: ClusterPlan): Promise<void> {
  const { uid } = await lstat(clusterDir);
  if (account !== undefined && uid === 0) await giveTo(account, clusterDir);
  const ownUid = process.getuid?.();
  if (account === undefined && uid !== ownUid) {
    throw new EmbeddedPostgresError(
      `${clusterDir} belongs to user ${uid}, but Gatehouse runs as user ${ownUid}.`,
      `Run Gatehouse as that user or as root, hand the folder over (chown -R ${ownUid} '${clusterDir}'), or set GATEHOUSE_DATA_DIR to another folder.`,
    );
  }
  const found = await clusterVersion(clusterDir);
  if (found === undefined) {
    throw new EmbeddedPostgresError(
      `${clusterDir} exists, but it holds no PostgreSQL database (it has no file PG_VERSION).`,
      "Restore it from a backup, or move the folder away so that a new database is made in its place.",
    );
  }
  if (found !== majorVersion) {
    throw new EmbeddedPostgresError(
      `${clusterDir} was made by PostgreSQL ${found}, but this Gatehouse brings PostgreSQL ${majorVersion}.`,
      "Start the Gatehouse version that made it and move its database with pg_dump, or set GATEHOUSE_DATA_DIR to another folder.",
    );
  }
  await chmod(clusterDir, 0o700); // a copy or a restore may have opened it; PostgreSQL would refuse
}

async function clusterVersion(clusterDir: string): Promise<string | undefined> {
  try {
    return (await readFile(join(clusterDir, "PG_VERSION"), "utf8")).trim();
  } catch (error) {
    if (systemErrorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

/**
 * Removes the folder of an interrupted initdb. A watcher stops that initdb, but it may still be running, so the removal
 * is retried.
 */
async function removeUnfinished(parent: string): Promise<void> {
  for (const name of await readdir(parent)) {
    if (name.startsWith(unfinishedPrefix)) {
      await rm(join(parent, name), { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
    }
  }
}

/** Whether a folder has files. An empty folder counts as missing, because renaming the new cluster replaces it. */
async function holdsFiles(folder: string): Promise<boolean> {
  try {
    return (await readdir(folder)).length > 0;
  } catch (error) {
    if (systemErrorCode(error) === "ENOENT") return false;
    throw error;
  }
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
