/** A lock that one process of this user holds at a time, in a file. */
import { randomUUID } from "node:crypto";
import { open, readFile, rm, stat } from "node:fs/promises";
import { hostname } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import { CommandFailure } from "../failure.ts";

/**
 * A lock can be abandoned from this age, in milliseconds. The age is negative if the clock was ahead when the lock was
 * created.
 */
const abandonedMs = 60_000;
/**
 * Longer than a process that is awake holds a lock, in milliseconds. If a lock lasts longer, its process was killed and
 * another one has its number now.
 */
const longestHeldMs = 75_000;
const pollMs = 50;
/** Longer pauses between two polls are those of a machine that slept. They count as this long, in milliseconds. */
const longestPauseMs = 1_000;

/** The ids of the locks of this process. */
const ownIds = new Set<string>();

/** The process that holds a lock. */
interface Holder {
  /** Random, so that no two locks have the same id. */
  readonly id: string;
  readonly pid: number;
  readonly host: string;
}

/**
 * Waits for the lock.
 *
 * @param waitMs how long to wait, in milliseconds
 * @param heldMs how long a process that runs keeps its lock while others wait, in milliseconds
 * @returns releases the lock
 * @throws CommandFailure if another process still holds the lock then
 */
export async function lockFile(path: string, waitMs: number, heldMs = longestHeldMs): Promise<() => Promise<void>> {
  const id = randomUUID();
  const startedAt = performance.now();
  let seen = { id: "", at: startedAt, forMs: 0 };
  ownIds.add(id);
  while (!(await create(path, `${id} ${process.pid} ${hostname()}`))) {
    const holder = await holderOf(path);
    const at = performance.now();
    if (holder !== undefined) {
      const forMs = holder.id === seen.id ? seen.forMs + Math.min(at - seen.at, longestPauseMs) : 0;
      seen = { id: holder.id, at, forMs };
      if (await isAbandoned(path, holder, forMs >= heldMs)) await removeAbandoned(path, holder);
    }
    if (at - startedAt > waitMs) {
      ownIds.delete(id);
      throw new CommandFailure(`Another process holds ${path}.`, {
        details: ["Wait until the other gatehouse command ends. If none is running, delete the file."],
      });
    }
    await delay(pollMs);
  }
  return async () => {
    await removeLock(path, id);
    ownIds.delete(id);
  };
}

/** @returns false if the file exists */
async function create(path: string, text: string): Promise<boolean> {
  try {
    const file = await open(path, "wx", 0o600);
    try {
      await file.writeFile(text);
    } finally {
      await file.close();
    }
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  }
}

/** @returns undefined if nobody holds the lock */
async function holderOf(path: string): Promise<Holder | undefined> {
  const text = await readFile(path, "utf8").catch(() => undefined);
  if (text === undefined) return undefined;
  // Empty until its process has written it, and in earlier versions.
  const [id = "", pid = "", host = ""] = text.split(" ");
  return { id, pid: Number(pid), host };
}

/**
 * A process that runs keeps its lock for a while, for example after the machine slept.
 *
 * @param isLong whether the lock was held for too long while this process waited
 */
async function isAbandoned(path: string, { id, pid, host }: Holder, isLong: boolean): Promise<boolean> {
  if (!(await isOld(path))) return false;
  if (host !== hostname() || isLong) return true;
  // Processes in a container often have the same number, one after another.
  return pid === process.pid ? !ownIds.has(id) : !isRunning(pid);
}

async function isOld(path: string): Promise<boolean> {
  const made = await stat(path).catch(() => undefined);
  return made !== undefined && Math.abs(Date.now() - made.mtimeMs) > abandonedMs;
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

/**
 * Removes an abandoned lock. Several processes may find it. Only the one that creates the file with the holder's id
 * removes the lock, so that none removes a lock that another process has created since. If that one was killed, its
 * file is removed first.
 */
async function removeAbandoned(path: string, { id }: Holder): Promise<void> {
  const removal = `${path}.${id}`;
  if (!(await create(removal, ""))) {
    if (await isOld(removal)) await rm(removal, { force: true });
    return;
  }
  try {
    await removeLock(path, id);
  } finally {
    await rm(removal, { force: true });
  }
}

async function removeLock(path: string, id: string): Promise<void> {
  if ((await holderOf(path))?.id === id) await rm(path, { force: true });
}
