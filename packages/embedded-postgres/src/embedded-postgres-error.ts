/** The embedded PostgreSQL cannot run. `message` names the problem with its value, and `remedy` says what to do. */
export class EmbeddedPostgresError extends Error {
  readonly remedy: string;

  constructor(message: string, remedy: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "EmbeddedPostgresError";
    this.remedy = remedy;
  }
}

/** Another Gatehouse runs on the data folder. */
export class DataFolderInUseError extends EmbeddedPostgresError {}

/** The system's code of an error thrown by `node:fs`, `node:net` or `node:child_process`, such as `ENOENT`. */
export function systemErrorCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}

/**
 * Runs file work on `path`, and turns failures that a person can resolve into an error with a remedy.
 *
 * @param purpose completes "Cannot …", for example "create the data folder"
 * @throws EmbeddedPostgresError for a full disk, missing permission or a read-only file system; other errors pass
 * through
 */
export async function withFileRemedy<T>(purpose: string, path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const remedy = remedyForCode(systemErrorCode(error), path);
    if (remedy === undefined) throw error;
    throw new EmbeddedPostgresError(`Cannot ${purpose}: ${errorText(error)}`, remedy, { cause: error });
  }
}

/** Returns a remedy if PostgreSQL's own output says why it stopped. */
export function remedyForServerOutput(output: string, dataDir: string): string {
  if (/no space left on device|disk quota exceeded/i.test(output)) return diskFullRemedy(dataDir);
  if (/read-only file system/i.test(output)) return readOnlyRemedy(dataDir);
  if (/could not look up effective user id/i.test(output)) {
    return "Run Gatehouse as a user that has an entry in /etc/passwd, or set GATEHOUSE_DATABASE_URL to a PostgreSQL of yours.";
  }
  if (/could not (create|map|resize) (shared memory|anonymous shared memory)|cannot allocate memory/i.test(output)) {
    return "Free some memory, or in a container raise its memory and /dev/shm limits, and start again.";
  }
  return "Read the server's own lines above; if they do not help, set GATEHOUSE_DATABASE_URL to a PostgreSQL of yours.";
}

export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function remedyForCode(code: string | undefined, path: string): string | undefined {
  switch (code) {
    case "ENOSPC":
    case "EDQUOT":
      return diskFullRemedy(path);
    case "EROFS":
      return readOnlyRemedy(path);
    case "EACCES":
    case "EPERM":
      return `Give the user that runs Gatehouse write access to ${path}, or set GATEHOUSE_DATA_DIR to a folder it owns.`;
    case "ENOENT":
      return `Make sure that the folder above ${path} exists and can be written, or set GATEHOUSE_DATA_DIR to another folder.`;
    case "ENOTDIR":
    case "EEXIST":
      return `A part of ${path} is a file, not a folder: move it away, or set GATEHOUSE_DATA_DIR to another folder.`;
    default:
      return undefined;
  }
}

function diskFullRemedy(path: string): string {
  return `Free some space on the disk that holds ${path}, or set GATEHOUSE_DATA_DIR to a folder on another disk.`;
}

function readOnlyRemedy(path: string): string {
  return `The file system of ${path} is read-only: set GATEHOUSE_DATA_DIR to a folder that can be written.`;
}
