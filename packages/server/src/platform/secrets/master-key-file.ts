import { open, readFile, rename, stat } from "node:fs/promises";
import { join } from "node:path";
import { systemErrorCode } from "@gatehouse/embedded-postgres";
import type { Log } from "../log.ts";
import { StartError } from "../start-error.ts";
import { generateMasterKey, parseMasterKey } from "./master-key.ts";

export interface MasterKeyFile {
  readonly path: string;
  /** 32 bytes. */
  readonly key: Buffer;
  /** Whether there was none before. */
  readonly made: boolean;
}

/**
 * Reads the master key in the data folder, or makes one. Whoever calls holds the folder's lock.
 *
 * @param dataDir a folder that exists
 * @throws StartError when the file is there but holds no key
 */
export async function readOrMakeMasterKey(dataDir: string, log: Log): Promise<MasterKeyFile> {
  return (await readMasterKey(dataDir, log)) ?? makeMasterKey(dataDir, pathIn(dataDir));
}

function pathIn(dataDir: string): string {
  return join(dataDir, "master-key");
}

/**
 * Reads the master key in the data folder; undefined when there is none.
 *
 * @throws StartError when the file is there but holds no key
 */
export async function readMasterKey(dataDir: string, log: Log): Promise<MasterKeyFile | undefined> {
  const path = pathIn(dataDir);
  const text = await readIfExists(path);
  if (text === undefined) return undefined;
  const key = parseMasterKey(text.trim());
  if (key === undefined) {
    throw new StartError(
      `The file ${path} does not hold 32 bytes in base64.`,
      "Put it back from a backup. Without it, the stored gateway tokens cannot be read again.",
    );
  }
  const { mode } = await stat(path);
  if ((mode & 0o077) !== 0) log.warn({ path }, "other users of this machine can read the master key: chmod 600 it");
  return { path, key, made: false };
}

async function readIfExists(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (systemErrorCode(error) === "ENOENT") return undefined;
    const remedy = `Let the user that runs Gatehouse read it, or set GATEHOUSE_MASTER_KEY.`;
    throw new StartError(`Cannot read the master key: ${String(error)}`, remedy, { cause: error });
  }
}

/** It is on the disk, whole, before anything is encrypted with it. */
async function makeMasterKey(dataDir: string, path: string): Promise<MasterKeyFile> {
  const text = generateMasterKey();
  const unfinished = `${path}.unfinished`;
  const file = await open(unfinished, "w", 0o600);
  try {
    await file.writeFile(`${text}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(unfinished, path);
  const folder = await open(dataDir, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
  return { path, key: Buffer.from(text, "base64"), made: true };
}
