/** Builds the archive of an npm package. */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { type IncludedPackage, traceApplication } from "../application.ts";
import { writeArchive } from "../archive.ts";
import { StagedTree } from "../staged-tree.ts";
import type { NpmPackage } from "./npm-package.ts";
import {
  bundledDescription,
  type Description,
  publishedDescription,
  readDescription,
} from "./published-description.ts";

interface NpmOptions {
  /** The built workspace. */
  readonly workspace: string;
  /** Time of all files, in seconds since 1970. */
  readonly time: number;
  /** Folder to write to. */
  readonly output: string;
}

export interface BuiltNpmPackage {
  readonly file: string;
  readonly description: Description;
  /** The npm packages that the modules load. */
  readonly packages: readonly IncludedPackage[];
}

export async function buildNpmPackage(npmPackage: NpmPackage, options: NpmOptions): Promise<BuiltNpmPackage> {
  const { folder, archive, application, isLibrary, keywords } = npmPackage;
  const { workspace, time, output } = options;
  const root = await mkdtemp(path.join(tmpdir(), "gatehouse-npm-"));
  try {
    const tree = new StagedTree(root);
    const { files, packages } = await traceApplication(application, workspace);
    const description = await readDescription(workspace, folder);
    const bundled = new Map<string, Description>();
    for (const file of files.filter((each) => /^packages\/[^/]+\/./.test(each))) {
      const place = file.split("/").slice(0, 2).join("/");
      if (file === `${place}/package.json`) continue;
      if (place !== folder && !bundled.has(place)) bundled.set(place, await readDescription(workspace, place));
      await addFile(tree, path.join(workspace, file), path.join(targetOf(place), path.relative(place, file)));
    }
    for (const [place, each] of bundled)
      await writeJson(tree, `${targetOf(place)}/package.json`, bundledDescription(each));
    const published = publishedDescription({
      description,
      root: await readDescription(workspace, ""),
      folder,
      summary: npmPackage.description,
      keywords,
      isLibrary,
      bundled: [...bundled.values()],
      loaded: new Set(packages.map(({ name }) => name)),
    });
    await writeJson(tree, "package/package.json", published);
    await tree.copy(path.join(workspace, folder, "README.md"), "package/README.md");
    await tree.copy(path.join(workspace, "LICENSE"), "package/LICENSE");
    const file = path.join(output, `${archive}-${description.version}.tgz`);
    await writeArchive(tree, file, time);
    return { file, description, packages };
  } finally {
    await rm(root, { recursive: true, force: true });
  }

  function targetOf(place: string): string {
    return place === folder ? "package" : `package/node_modules/@gatehouse/${path.basename(place)}`;
  }
}

/** Modules name their source maps, which are not published. */
async function addFile(tree: StagedTree, source: string, target: string): Promise<void> {
  const mode = /\/bin\//.test(target) ? 0o755 : 0o644;
  if (!/\/dist\/.*\.js$/.test(target) || target.includes("/console/dist/")) return tree.copy(source, target, mode);
  const text = await readFile(source, "utf8");
  return tree.write(target, text.replace(/^\/\/# sourceMappingURL=.*\n?/m, ""), mode);
}

async function writeJson(tree: StagedTree, file: string, value: object): Promise<void> {
  await tree.write(file, `${JSON.stringify(value, undefined, 2)}\n`);
}
