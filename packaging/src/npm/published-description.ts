/** The package.json of a published package. The workspace's own is for a checkout: it names sources and no files. */
import { readFile } from "node:fs/promises";
import path from "node:path";

export interface Description {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly type: string;
  readonly engines?: Readonly<Record<string, string>>;
  readonly bin?: Readonly<Record<string, string>>;
  readonly exports?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly repository?: { readonly type: string; readonly url: string };
}

/** @param folder relative to the workspace, "" for the workspace itself */
export async function readDescription(workspace: string, folder: string): Promise<Description> {
  // Written by this project.
  return JSON.parse(await readFile(path.join(workspace, folder, "package.json"), "utf8")) as Description;
}

interface PublishedOptions {
  readonly description: Description;
  readonly root: Description;
  readonly folder: string;
  readonly summary: string;
  readonly keywords: readonly string[];
  readonly isLibrary: boolean;
  /** Packages of the workspace that the archive contains. */
  readonly bundled: readonly Description[];
  /** Names of the npm packages that the modules load. The console, for example, is built, and loads none. */
  readonly loaded: ReadonlySet<string>;
}

export function publishedDescription(options: PublishedOptions): object {
  const { description, root, folder, summary, keywords, isLibrary, bundled, loaded } = options;
  const { name, version, license, type, bin, exports = {} } = description;
  const all = [description, ...bundled];
  const dependencies = unionOf(
    all.map((each) => each.dependencies ?? {}),
    loaded,
  );
  const optionalDependencies = unionOf(all.map((each) => each.optionalDependencies ?? {}));
  return {
    name,
    version,
    description: summary,
    keywords,
    license,
    type,
    engines: root.engines,
    // npm accepts a statement of provenance only from the repository that the package names.
    ...(root.repository === undefined ? {} : { repository: { ...root.repository, directory: folder } }),
    ...(bin === undefined ? {} : { bin }),
    exports: { ...(isLibrary ? publishedExports(exports) : {}), "./package.json": "./package.json" },
    ...(isLibrary ? { sideEffects: false } : {}),
    dependencies,
    ...(Object.keys(optionalDependencies).length > 0 ? { optionalDependencies } : {}),
    ...(bundled.length > 0 ? { bundleDependencies: bundled.map((each) => each.name).sort() } : {}),
    publishConfig: { access: "public", provenance: true },
  };
}

/** The package.json of a package of the workspace inside another package, which declares the dependencies of all. */
export function bundledDescription({ name, version, license, type, exports = {} }: Description): object {
  return { name, version, license, type, exports: publishedExports(exports, "types") };
}

/** Without the condition for sources, which are not published. */
function publishedExports(exports: NonNullable<Description["exports"]>, ...without: readonly string[]) {
  const omitted = ["gatehouse-source", ...without];
  return Object.fromEntries(
    Object.entries(exports).map(([name, conditions]) => [
      name,
      Object.fromEntries(Object.entries(conditions).filter(([condition]) => !omitted.includes(condition))),
    ]),
  );
}

/** @throws Error if two packages need different versions of a dependency */
function unionOf(
  all: readonly Readonly<Record<string, string>>[],
  only?: ReadonlySet<string>,
): Readonly<Record<string, string>> {
  const union = new Map<string, string>();
  for (const [name, version] of all.flatMap((each) => Object.entries(each))) {
    if (name.startsWith("@gatehouse/") || only?.has(name) === false) continue;
    const known = union.get(name) ?? version;
    if (known !== version) throw new Error(`The dependency ${name} is needed in the versions ${known} and ${version}.`);
    union.set(name, version);
  }
  return Object.fromEntries([...union].sort(([one], [other]) => (one < other ? -1 : 1)));
}
