/** A lock that one process of this user holds at a time, in a file. */
import { randomUUID } from "node:crypto";
import { open, readFile, rm, stat } from "node:fs/promises";
import { hostname } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import { CommandFailure } from "../failure.ts";

/**
 * The minimum age of an abandoned lock, in milliseconds. The age is negative if the clock was ahead when the lock was
 * created, so its absolute value counts.
 */
const abandonedMs = 60_000;
/**
 * No running process holds a lock for longer than this, in milliseconds. If a lock lasts longer, its process was
 * killed, and the PID was reused.
 */
const longestHeldMs = 75_000;
const pollMs = 50;
/** Cap for the time between two polls, in milliseconds. A longer time means that the machine slept. */
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
 * @param heldMs how long a lock is respected while a process with its PID runs, in milliseconds
 * @returns a function that releases the lock
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
  // The file is empty until its process writes it, and in earlier versions.
  const [id = "", pid = "", host = ""] = text.split(" ");
  return { id, pid: Number(pid), host };
}

/**
 * Whether a lock is abandoned. The lock of a running process is respected for a while, even if it is old, because the
 * machine may have slept.
 *
 * @param isLong whether the lock was held for too long while this process waited
 */
async function isAbandoned(path: string, { id, pid, host }: Holder, isLong: boolean): Promise<boolean> {
  if (!(await isOld(path))) return false;
  if (host !== hostname() || isLong) return true;
  // Successive processes in a container often have the same PID.
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
 * Removes an abandoned lock. Several processes may find it. Only the process that creates `<path>.<id>` removes the
 * lock, so that no newer lock is removed. An old `<path>.<id>` comes from a killed process, and is removed first.
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
