import { createHash } from "node:crypto";
import { chmod, lchown, lstat, mkdir, rm, rmdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { EmbeddedPostgresError, systemErrorCode, withFileRemedy } from "./embedded-postgres-error.ts";
import type { ServerAccount } from "./server-account.ts";

/** Bytes of a socket's path that fit into `sockaddr_un` (108 on Linux, 104 on macOS) before the terminating zero. */
const socketPathLimit = process.platform === "linux" ? 107 : 103;

/** Whether a socket of this path can be bound. */
export function fitsSocketPath(path: string): boolean {
  return Buffer.byteLength(path) <= socketPathLimit;
}

/**
 * Chooses the folder for the sockets of a data folder. It is inside the data folder, or a short folder under the
 * system's temporary folder if the path would be too long. The same data folder always has the same socket folder.
 *
 * @param dataDir absolute, without symbolic links
 * @param longestName the longest socket name that has to fit
 * @param temporaryRoots parents of a short folder, in order of preference
 */
export function chooseSocketDirectory(
  dataDir: string,
  folderName: string,
  longestName: string,
  temporaryRoots: readonly string[] = [tmpdir(), "/tmp"],
): string {
  const inside = join(dataDir, folderName);
  if (fitsSocketPath(join(inside, longestName))) return inside;
  const fingerprint = createHash("sha256").update(inside).digest("hex").slice(0, 16);
  for (const root of temporaryRoots) {
    const short = join(root, `gatehouse-${fingerprint}`);
    if (fitsSocketPath(join(short, longestName))) return short;
  }
  throw new EmbeddedPostgresError(
    `No folder for PostgreSQL's socket has a short enough path: ${inside} and ${temporaryRoots.join(", ")} exceed ${socketPathLimit} bytes.`,
    "Set GATEHOUSE_DATA_DIR or TMPDIR to a shorter path.",
  );
}

/**
 * Creates the socket folder with access only for its owner. Its mode denies access to other users of the machine.
 *
 * @throws EmbeddedPostgresError if another user already created it, which any user can do in the temporary folder
 */
export async function makeSocketDirectory(directory: string, account: ServerAccount | undefined): Promise<void> {
  const ownUid = process.getuid?.();
  const serverUid = account?.uid ?? ownUid;
  await withFileRemedy("make the folder for PostgreSQL's socket", directory, async () => {
    try {
      await mkdir(directory, { mode: 0o700 });
    } catch (error) {
      if (systemErrorCode(error) !== "EEXIST") throw error;
    }
    const found = await lstat(directory);
    if (!found.isDirectory() || (found.uid !== serverUid && found.uid !== ownUid)) {
      throw new EmbeddedPostgresError(
        `${directory} is meant for PostgreSQL's socket, but it belongs to user ${found.uid} or is not a folder.`,
        `Remove ${directory}, or set GATEHOUSE_DATA_DIR or TMPDIR to another path.`,
      );
    }
    await chmod(directory, 0o700);
    if (account !== undefined) await lchown(directory, account.uid, account.gid);
  });
}

/**
 * Removes the files that a stopped server left in its socket folder, by name. Root must not delete recursively in a
 * folder under /tmp.
 */
export async function clearSocketDirectory(directory: string, socketName: string): Promise<void> {
  await rm(join(directory, socketName), { force: true });
  await rm(join(directory, `${socketName}.lock`), { force: true });
}

/** Removes the folder after the last server. Other files in it stay. */
export async function removeSocketDirectory(directory: string, socketName: string): Promise<void> {
  await clearSocketDirectory(directory, socketName);
  await rmdir(directory).catch(() => {}); // Already removed, or not empty. Neither prevents the next start.
}
