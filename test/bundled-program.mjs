// Programs from their TypeScript sources, for tests that need a separate process. Each program is bundled once,
// because loading hundreds of modules at each start takes several times the CPU time.
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { mkdir, readdir, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = new URL("../", import.meta.url);
/** Retained between runs, and shared by all processes. */
const sharedCache = new URL("node_modules/.cache/gatehouse-programs/", root);
/** Files that determine a bundle besides the modules in it. The manifests of packages declare where modules are. */
const around = [
  "package-lock.json",
  "test/bundled-program.mjs",
  ...readdirSync(new URL("packages/", root)).map((name) => `packages/${name}/package.json`),
].map((file) => fileURLToPath(new URL(file, root)));
/** How long a bundle stays after its replacement, for processes that still load parts of it, in milliseconds. */
const retentionMs = 24 * 3_600_000;

/**
 * Imports a TypeScript module, with all modules of this repository that it imports.
 *
 * @param {URL} module
 * @param {{ cache?: URL, plugins?: import("rolldown").Plugin[] }} [options] another cache, and more plugins of rolldown
 */
export async function importBundled(module, { cache = sharedCache, plugins = [] } = {}) {
  const name = createHash("sha256").update(module.href).digest("hex").slice(0, 16);
  const folder = new URL(`${name}/`, cache);
  const entry = currentEntry(folder) ?? (await bundle(fileURLToPath(module), folder, plugins));
  return import(entry.href);
}

/** The entry of the bundle, unless a file changed since. @param {URL} folder */
function currentEntry(folder) {
  const list = readList(folder);
  return list !== undefined && isCurrent(list.inputs) ? new URL(`${list.version}/program.mjs`, folder) : undefined;
}

/**
 * @param {URL} folder
 * @returns {{ version: string, inputs: Record<string, string> } | undefined}
 */
function readList(folder) {
  const list = new URL("inputs.json", folder);
  return existsSync(list) ? JSON.parse(readFileSync(list, "utf8")) : undefined;
}

/** Whether all files still have their stamps. @param {Record<string, string>} inputs */
function isCurrent(inputs) {
  return Object.entries(inputs).every(([file, stamp]) => stampOf(file) === stamp);
}

/** @param {string} file */
function stampOf(file) {
  const { mtimeMs, size } = statSync(file, { throwIfNoEntry: false }) ?? {};
  return `${mtimeMs} ${size}`;
}

/**
 * Processes that start together may bundle at the same time. Each writes its own folder, and the last `inputs.json`
 * wins. A bundle is listed only if no input changed while it was made.
 *
 * @param {string} module
 * @param {URL} folder
 * @param {import("rolldown").Plugin[]} plugins
 */
async function bundle(module, folder, plugins) {
  const { rolldown } = await import("rolldown");
  /** Stamps from before the files were read. @type {Record<string, string>} */
  const inputs = Object.fromEntries(around.map((file) => [file, stampOf(file)]));
  const stampModule = (/** @type {string} */ id) => {
    if (existsSync(id)) inputs[id] = stampOf(id);
    return null;
  };
  const build = await rolldown({
    input: { program: module },
    platform: "node",
    // Packages from npm load as usual, except one that consists of hundreds of modules.
    external: (id) => !/^([./]|@gatehouse\/|typebox)/.test(id),
    resolve: { conditionNames: ["gatehouse-source", "node", "import"] },
    treeshake: false,
    plugins: [
      { name: "stamp-inputs", load: stampModule },
      { name: "own-url", transform: { filter: { code: /import\.meta\.url/ }, handler: withOwnUrl } },
      ...plugins,
    ],
  });
  const version = `${Date.now()}-${process.pid}`;
  const output = new URL(`${version}/`, folder);
  await build.write({
    dir: fileURLToPath(output),
    entryFileNames: "[name].mjs",
    chunkFileNames: "[name]-[hash].mjs",
  });
  await build.close();
  if (isCurrent(inputs)) await list(folder, { version, inputs });
  return new URL("program.mjs", output);
}

/**
 * Makes a version the one that later processes use. Processes that use the previous version can still load parts of it
 * for some time.
 *
 * @param {URL} folder
 * @param {{ version: string, inputs: Record<string, string> }} content
 */
async function list(folder, content) {
  const draft = new URL(`inputs-${content.version}.json`, folder);
  await mkdir(folder, { recursive: true });
  await writeFile(draft, JSON.stringify(content));
  const previous = readList(folder)?.version;
  await rename(draft, new URL("inputs.json", folder));
  const now = new Date();
  // The folder may be gone, because another process removed it.
  if (previous !== undefined) await utimes(new URL(previous, folder), now, now).catch(() => {});
  await removeOld(folder);
}

/**
 * Removes versions whose replacement was long ago. Their modification time is the time of the replacement.
 *
 * @param {URL} folder
 */
async function removeOld(folder) {
  const current = readList(folder)?.version;
  for (const name of await readdir(folder)) {
    if (name === "inputs.json" || name === current) continue;
    const replacedAt = await stat(new URL(name, folder)).then(
      ({ mtimeMs }) => mtimeMs,
      () => Number.POSITIVE_INFINITY,
    );
    if (replacedAt < Date.now() - retentionMs) await rm(new URL(name, folder), { recursive: true, force: true });
  }
}

/** Modules find files beside themselves, not beside the bundle. @param {string} code @param {string} id */
function withOwnUrl(code, id) {
  return code.replaceAll("import.meta.url", JSON.stringify(pathToFileURL(id).href));
}
