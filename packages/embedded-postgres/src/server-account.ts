import { execFile, spawn } from "node:child_process";
import { lchown, readdir, stat } from "node:fs/promises";
import { dirname, join, parse, sep } from "node:path";
import { promisify } from "node:util";
import { EmbeddedPostgresError, systemErrorCode } from "./embedded-postgres-error.ts";

const run = promisify(execFile);

/** The system account of PostgreSQL's processes. `name` is for messages. */
export interface ServerAccount {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

/** Accounts in order of preference. `_postgres` is macOS's own. initdb requires an account with a passwd entry. */
const candidates = ["postgres", "_postgres", "nobody"];

/**
 * Chooses the account of PostgreSQL, which refuses to run as root. As root, this is the owner of an existing cluster,
 * so that a folder first used without root stays usable without it. Otherwise it is the first candidate that exists.
 *
 * @returns undefined if this process is not root: PostgreSQL then runs as the same user
 */
export async function chooseServerAccount(clusterDir: string): Promise<ServerAccount | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const owner = await ownerOf(clusterDir);
  if (owner !== undefined && owner.uid !== 0) return { name: await nameOf(owner.uid), ...owner };
  for (const name of candidates) {
    const account = await lookUp(name);
    if (account !== undefined && account.uid !== 0) return account;
  }
  throw new EmbeddedPostgresError(
    `PostgreSQL does not run as root, and none of the users ${candidates.join(", ")} exists.`,
    "Create the user postgres, or run Gatehouse as a user other than root.",
  );
}

/** The `spawn` options that make a child run as the account. */
export function spawnAs(account: ServerAccount | undefined): { uid?: number; gid?: number } {
  return account === undefined ? {} : { uid: account.uid, gid: account.gid };
}

/**
 * Ensures that the account can enter a folder, by trying it as that account. Only this accounts for access lists and
 * mounts.
 *
 * @param folder absolute, without symbolic links
 * @param remedy what to do besides opening the offending folder
 * @throws EmbeddedPostgresError that names the first folder of the path that the account cannot enter
 */
export async function ensureFolderCanBeEntered(
  folder: string,
  account: ServerAccount | undefined,
  remedy: string,
): Promise<void> {
  if (account === undefined) return;
  const barrier = await firstFolderThatCannotBeEntered(folder, account);
  if (barrier === undefined) return;
  throw new EmbeddedPostgresError(
    `PostgreSQL runs as ${account.name} because Gatehouse runs as root, and ${account.name} cannot enter ${barrier}, which is on the way to ${folder}.`,
    `${remedy} Or let others pass through the folder: chmod o+x '${barrier}'`,
  );
}

/**
 * Changes the owner of a folder tree that root made (such as a restored backup) to the account. Links are not followed.
 */
export async function giveTo(account: ServerAccount | undefined, path: string): Promise<void> {
  if (account === undefined) return;
  await lchown(path, account.uid, account.gid);
  const entries = await readdir(path, { withFileTypes: true });
  for (const entry of entries) {
    const child = join(path, entry.name);
    if (entry.isDirectory()) await giveTo(account, child);
    else await lchown(child, account.uid, account.gid);
  }
}

async function firstFolderThatCannotBeEntered(folder: string, account: ServerAccount): Promise<string | undefined> {
  const path: string[] = [];
  for (let dir = folder; dir !== parse(dir).root; dir = dirname(dir)) path.unshift(dir);
  const tryEach = 'for dir do cd -- "$dir" 2>/dev/null || { printf %s "$dir"; exit 0; }; done';
  const child = spawn("/bin/sh", ["-c", tryEach, "sh", ...path], {
    ...spawnAs(account),
    cwd: sep,
    stdio: ["ignore", "pipe", "ignore"],
  });
  child.stdout.setEncoding("utf8");
  let barrier = "";
  return new Promise((resolve, reject) => {
    child.stdout.on("data", (text: string) => {
      barrier += text;
    });
    child.on("error", (error) => reject(cannotSwitchUser(error, account)));
    child.on("close", () => resolve(barrier === "" ? undefined : barrier));
  });
}

function cannotSwitchUser(error: Error, account: ServerAccount): Error {
  if (systemErrorCode(error) !== "EPERM") return error;
  return new EmbeddedPostgresError(
    `Gatehouse runs as root but may not start a process as ${account.name}: ${error.message}`,
    "Run Gatehouse as a user other than root, or give its container the capabilities SETUID and SETGID.",
    { cause: error },
  );
}

async function ownerOf(path: string): Promise<{ uid: number; gid: number } | undefined> {
  try {
    const { uid, gid } = await stat(path);
    return { uid, gid };
  } catch (error) {
    if (systemErrorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

async function nameOf(uid: number): Promise<string> {
  return run("id", ["-un", String(uid)]).then(
    ({ stdout }) => stdout.trim(),
    () => `user ${uid}`, // a restored folder may belong to a user that this machine does not have
  );
}

async function lookUp(name: string): Promise<ServerAccount | undefined> {
  try {
    const [uid, gid] = await Promise.all([run("id", ["-u", name]), run("id", ["-g", name])]);
    return { name, uid: Number(uid.stdout), gid: Number(gid.stdout) };
  } catch {
    return undefined; // `id` fails for a name without a passwd entry
  }
}
