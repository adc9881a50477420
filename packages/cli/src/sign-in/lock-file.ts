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
const pollMs = 50;

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
 * @returns releases the lock
 * @throws CommandFailure if another process still holds the lock then
 */
export async function lockFile(path: string, waitMs: number): Promise<() => Promise<void>> {
  const own = { id: randomUUID(), pid: process.pid, host: hostname() };
  const startedAt = performance.now();
  while (!(await create(path, `${own.id} ${own.pid} ${own.host}`))) {
    const holder = await holderOf(path);
    if (holder !== undefined && (await isAbandoned(path, holder))) await removeAbandoned(path, holder);
    if (performance.now() - startedAt > waitMs) {
      throw new CommandFailure(`Another process holds ${path}.`, {
        details: ["Wait until the other gatehouse command ends. If none is running, delete the file."],
      });
    }
    await delay(pollMs);
  }
  return () => removeLock(path, own.id);
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

/** A process that runs keeps its lock, for example after the machine slept. */
async function isAbandoned(path: string, { pid, host }: Holder): Promise<boolean> {
  const held = await stat(path).catch(() => undefined);
  if (held === undefined || Math.abs(Date.now() - held.mtimeMs) <= abandonedMs) return false;
  return host !== hostname() || !isRunning(pid);
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
 * removes the lock, so that none removes a lock that another process has created since.
 */
async function removeAbandoned(path: string, { id }: Holder): Promise<void> {
  const removal = `${path}.${id}`;
  if (!(await create(removal, ""))) return;
  try {
    await removeLock(path, id);
  } finally {
    await rm(removal, { force: true });
  }
}

async function removeLock(path: string, id: string): Promise<void> {
  if ((await holderOf(path))?.id === id) await rm(path, { force: true });
}
