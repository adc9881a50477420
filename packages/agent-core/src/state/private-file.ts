import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, open, rename, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";

/**
 * Replaces a file atomically and durably: after a power failure, it has the old text or the new. Only its owner can
 * read it.
 */
export async function writePrivateFile(path: string, text: string): Promise<void> {
  const temporary = `${path}.${randomBytes(6).toString("hex")}.new`;
  try {
    const file = await open(temporary, "wx", 0o600);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    // Equal failures have equal messages, so that logs and warnings can omit repetitions.
    if (error instanceof Error) error.message = error.message.replaceAll(temporary, path);
    throw error;
  }
  const folder = await open(dirname(path), "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/**
 * Checks the access rights of the state folder, as ssh does for its keys. Anyone who can write there can change the
 * pinned key.
 *
 * @param folder an existing folder
 * @param privateKeyFile a file in the folder
 * @throws Error if others may write to the folder, or read the key
 */
export async function checkRights(folder: string, privateKeyFile: string): Promise<void> {
  const { mode } = await stat(folder);
  if ((mode & 0o022) !== 0) {
    throw new Error(
      `Other users can write to the state folder ${folder} (mode ${octal(mode)}), and could replace the pinned key. Check its files, then remove the right: chmod go-w ${folder}`,
    );
  }
  const key = await stat(privateKeyFile);
  if ((key.mode & 0o077) !== 0) {
    throw new Error(
      `Other users can read the private key ${privateKeyFile} (mode ${octal(key.mode)}). Remove the permission: chmod go= ${privateKeyFile}. If someone may have read the key, replace it.`,
    );
  }
}

/** Returns the mode of a file as people write it. */
export function octal(mode: number): string {
  return (mode & 0o777).toString(8).padStart(4, "0");
}

/** @returns undefined if the file does not exist @throws Error if it is not a regular file */
export async function readIfExists(path: string): Promise<string | undefined> {
  let file: FileHandle;
  try {
    // Opening a FIFO would otherwise wait for a writer.
    file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
  try {
    if (!(await file.stat()).isFile()) throw new Error(`${path} is not a regular file. Delete it.`);
    return await file.readFile("utf8");
  } finally {
    await file.close();
  }
}
