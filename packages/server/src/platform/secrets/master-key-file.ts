import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { systemErrorCode } from "@gatehouse/embedded-postgres";
import { replaceFile } from "../durable-file.ts";
import type { Log } from "../log.ts";
import { StartError } from "../start-error.ts";
import { generateMasterKey, parseMasterKey } from "./master-key.ts";

export interface MasterKeyFile {
  readonly path: string;
  /** 32 bytes. */
  readonly key: Buffer;
  /** Whether the key was created now. */
  readonly created: boolean;
}

/**
 * Reads the master key in the data folder, or creates one. The caller must hold the folder's lock.
 *
 * @param dataDir an existing folder
 * @throws StartError if the file exists but contains no key
 */
export async function readOrCreateMasterKey(dataDir: string, log: Log): Promise<MasterKeyFile> {
  return (await readMasterKey(dataDir, log)) ?? makeMasterKey(pathIn(dataDir));
}

function pathIn(dataDir: string): string {
  return join(dataDir, "master-key");
}

/** The file of the master key that only decrypts, during a rotation. */
export function secondPathIn(dataDir: string): string {
  return join(dataDir, "master-key.second");
}

/**
 * Reads the master key that only decrypts; undefined if no rotation is in progress.
 *
 * @throws StartError if the file exists but contains no key
 */
export function readSecondMasterKey(dataDir: string, log: Log): Promise<MasterKeyFile | undefined> {
  return readKeyFile(secondPathIn(dataDir), log);
}

/**
 * Reads the master key in the data folder. Resolves to undefined if the folder has none.
 *
 * @throws StartError if the file exists but contains no key
 */
export function readMasterKey(dataDir: string, log: Log): Promise<MasterKeyFile | undefined> {
  return readKeyFile(pathIn(dataDir), log);
}

async function readKeyFile(path: string, log: Log): Promise<MasterKeyFile | undefined> {
  const text = await readIfExists(path);
  if (text === undefined) return undefined;
  const key = parseMasterKey(text.trim());
  if (key === undefined) {
    throw new StartError(
      `The file ${path} does not contain 32 bytes in base64.`,
      "Restore the file from a backup. Without the key, stored gateway tokens cannot be decrypted.",
    );
  }
  const { mode } = await stat(path);
  if ((mode & 0o077) !== 0) log.warn({ path }, "master key file is readable by other users; run chmod 600");
  return { path, key, created: false };
}

async function readIfExists(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (systemErrorCode(error) === "ENOENT") return undefined;
    const remedy = `Make the file readable for the user that runs Gatehouse, or set GATEHOUSE_MASTER_KEY.`;
    throw new StartError(`Cannot read the master key: ${String(error)}`, remedy, { cause: error });
  }
}

/** Writes the key to disk completely before anything is encrypted with it. */
async function makeMasterKey(path: string): Promise<MasterKeyFile> {
  return writeKeyFile(path, generateMasterKey());
}

/**
 * Replaces the master key by a new one, and keeps the current one as the second key. An interruption leaves either the
 * current key alone, or the current key twice, or both keys.
 */
export async function replaceMasterKeyFile(dataDir: string, present: Buffer): Promise<void> {
  await writeKeyFile(secondPathIn(dataDir), present.toString("base64"));
  await makeMasterKey(pathIn(dataDir));
}

async function writeKeyFile(path: string, text: string): Promise<MasterKeyFile> {
  await replaceFile(path, `${text}\n`);
  return { path, key: Buffer.from(text, "base64"), created: true };
}
