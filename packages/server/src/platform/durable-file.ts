import { randomBytes } from "node:crypto";
import { open, readdir, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { systemErrorCode } from "@gatehouse/embedded-postgres";

/** Errors of file systems that cannot sync folders, such as some network file systems. */
const cannotSyncFolders = new Set<string | undefined>(["EINVAL", "ENOTSUP", "EPERM"]);

/**
 * Replaces a file atomically and durably: after a power failure, it has the old text or the new. Only its owner can
 * read it. Agents have their own copy of this function, because they import no code of the server.
 *
 * Also removes what a crash left of an earlier replacement, which may contain a key. Of two replacements at the same
 * time, one can therefore fail.
 */
export async function replaceFile(path: string, text: string): Promise<void> {
  await removeUnfinished(path);
  const unfinished = `${path}.${randomBytes(6).toString("hex")}.unfinished`;
  try {
    const file = await open(unfinished, "wx", 0o600);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(unfinished, path);
  } catch (error) {
    await rm(unfinished, { force: true });
    throw error;
  }
  // Windows cannot open folders.
  if (process.platform !== "win32") await syncFolder(dirname(path));
}

async function removeUnfinished(path: string): Promise<void> {
  const folder = dirname(path);
  const prefix = `${basename(path)}.`;
  // A folder that cannot be listed can still be written to.
  for (const name of await readdir(folder).catch(() => [])) {
    const isUnfinished = name.startsWith(prefix) && /^[0-9a-f]{12}\.unfinished$/.test(name.slice(prefix.length));
    if (isUnfinished) await rm(join(folder, name), { force: true });
  }
}

/** Stores the names of the folder's files, if the file system can. Otherwise, a power failure can undo a rename. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } catch (error) {
    if (!cannotSyncFolders.has(systemErrorCode(error))) throw error;
  } finally {
    await folder.close();
  }
}
