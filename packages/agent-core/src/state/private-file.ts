import { randomBytes } from "node:crypto";
import { open, readFile, rename, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";

/** Replaces a file's content at once and for good: after a loss of power it holds the old text or the new. Only its owner reads it. */
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
 * Looks at the rights of what only an agent itself may change, as ssh does with its keys: who can write there decides whom the agent trusts.
 *
 * @param folder that is there
 * @param privateKeyFile in it
 * @throws Error where others may write to the folder, or read the key
 */
export async function checkRights(folder: string, privateKeyFile: string): Promise<void> {
  const { mode } = await stat(folder);
  if ((mode & 0o022) !== 0) {
    throw new Error(
      `The state folder ${folder} can be written to by others (mode ${octal(mode)}): they could decide whom this agent trusts. Look at what is in it, and take the right away: chmod go-w ${folder}`,
    );
  }
  const key = await stat(privateKeyFile);
  if ((key.mode & 0o077) !== 0) {
    throw new Error(
      `The private key ${privateKeyFile} is open to others (mode ${octal(key.mode)}). Take the right away: chmod go= ${privateKeyFile}. Where somebody may have read it, use a new one.`,
    );
  }
}

function octal(mode: number): string {
  return (mode & 0o777).toString(8).padStart(4, "0");
}

/** @returns undefined where there is no such file */
export async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}
