/** Checks of this machine: the data folder, the disk and the clock. */
import { execFile } from "node:child_process";
import { readFile, stat, statfs } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { systemErrorCode } from "@gatehouse/embedded-postgres";
import type { Config } from "../config.ts";
import { parseMasterKey } from "../platform/secrets/master-key.ts";
import { type Finding, ok, problem, reasonOf, skipped, warning } from "./finding.ts";

const mebibyte = 1024 * 1024;
/** PostgreSQL stops if it cannot write. */
const leastFreeBytes = 256 * mebibyte;
const fewFreeBytes = 2048 * mebibyte;

/** The folder and the key in it must exist after the first start, and must be closed to other users. */
export async function checkDataFolder({ dataDir, databaseUrl, masterKey }: Config): Promise<readonly Finding[]> {
  if (databaseUrl !== undefined) return [checkConfiguredKey(masterKey)];
  let mode: number;
  try {
    mode = (await stat(dataDir)).mode;
  } catch (error) {
    if (systemErrorCode(error) !== "ENOENT") {
      return [problem("data folder", `${dataDir} cannot be read (${reasonOf(error)}).`, "Run the command as root.")];
    }
    const remedy = "Start the server once, or set GATEHOUSE_DATA_DIR to the folder that it uses.";
    return [warning("data folder", `${dataDir} does not exist.`, remedy)];
  }
  const folder =
    (mode & 0o066) === 0
      ? ok("data folder", `${dataDir} is closed to other users.`)
      : problem("data folder", `Other users can read or change ${dataDir}.`, `Run: chmod go-rw '${dataDir}'`);
  return [folder, await checkKeyFile(join(dataDir, "master-key"))];
}

function checkConfiguredKey(masterKey: Config["masterKey"]): Finding {
  if (masterKey !== undefined) return ok("master key", "GATEHOUSE_MASTER_KEY is set.");
  const remedy = "Set the key of this database on every replica; docs/deployment.md describes it.";
  return problem("master key", "GATEHOUSE_DATABASE_URL is set, and GATEHOUSE_MASTER_KEY is not.", remedy);
}

async function checkKeyFile(file: string): Promise<Finding> {
  try {
    const { mode } = await stat(file);
    if ((mode & 0o077) !== 0)
      return problem("master key", `Other users can access ${file}.`, `Run: chmod 600 '${file}'`);
    if (parseMasterKey((await readFile(file, "utf8")).trim()) === undefined) {
      return problem("master key", `${file} contains no master key.`, "Restore the file from a backup.");
    }
    return ok("master key", `${file} contains a key that only its owner can read.`);
  } catch (error) {
    if (systemErrorCode(error) === "ENOENT") {
      const remedy = "If the server ran before, restore the file from a backup. Otherwise, the first start creates it.";
      return warning("master key", `${file} does not exist.`, remedy);
    }
    return problem("master key", `${file} cannot be read (${reasonOf(error)}).`, "Run the command as root.");
  }
}

/** @param free bytes that are available in a folder; by default, of its file system */
export async function checkDisk(
  { dataDir, databaseUrl }: Config,
  free: (folder: string) => Promise<number> = freeBytes,
): Promise<Finding> {
  if (databaseUrl !== undefined) return skipped("disk", "The database is external.");
  const bytes = await free(dataDir)
    .catch(() => free(dirname(dataDir)))
    .catch(() => undefined);
  if (bytes === undefined) return skipped("disk", `The free space of ${dataDir} could not be determined.`);
  const message = `${Math.floor(bytes / mebibyte)} MiB are free for ${dataDir}.`;
  const remedy = "Free space or enlarge the file system. GATEHOUSE_AUDIT_RETENTION_DAYS limits the audit record.";
  if (bytes < leastFreeBytes) return problem("disk", message, remedy);
  return bytes < fewFreeBytes ? warning("disk", message, remedy) : ok("disk", message);
}

async function freeBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}

/** @param synchronised asks whether the machine's clock follows a time server; undefined if that is not known */
export async function checkClock(
  synchronised: () => Promise<boolean | undefined> = systemClockSynchronised,
): Promise<Finding> {
  const answer = await synchronised();
  if (answer === undefined) return skipped("clock", "systemd does not report whether the clock is synchronised.");
  if (answer) return ok("clock", "The clock is synchronised.");
  const remedy =
    "Install systemd-timesyncd or chrony, or check that its time servers answer. Time windows and tokens need the time.";
  return warning("clock", "The clock is not synchronised.", remedy);
}

async function systemClockSynchronised(): Promise<boolean | undefined> {
  try {
    const args = ["show", "--property=NTPSynchronized", "--value"];
    const { stdout } = await promisify(execFile)("timedatectl", args, { timeout: 5_000 });
    return stdout.trim() === "yes";
  } catch {
    return undefined;
  }
}
