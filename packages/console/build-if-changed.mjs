/**
 * Builds the console, unless what it is made of is what it was made of last: so that a start is fast when nothing
 * changed.
 */
import { createHash } from "node:crypto";
import { copyFile, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import { firstLoadGroups } from "./first-load.mjs";

const folder = fileURLToPath(new URL(".", import.meta.url));
const dist = path.join(folder, "dist");
const stamp = path.join(dist, ".built-from");
const sources = ["src", "index.html", "vite.config.ts", "package.json", "build-if-changed.mjs", "first-load.mjs"];
const around = ["../client/src", "../contract/src", "../../package-lock.json"];
// The guides.
for (const name of await readdir(path.join(folder, "../../docs"))) {
  if (name.endsWith(".md")) around.push(`../../docs/${name}`);
}

const from = await fingerprint();
if ((await readFile(stamp, "utf8").catch(() => "")) !== from) {
  // Always build for production, also from tests, which set another mode.
  process.env.NODE_ENV = "production";
  const { build } = await import("vite");
  // Beside the folder, and then in its place: who serves or builds at the same time sees a whole one.
  const outDir = path.join(folder, `.dist-${process.pid}`);
  const oldDist = path.join(folder, `.dist-${process.pid}-old`);
  try {
    const config = { root: folder, configFile: path.join(folder, "vite.config.ts"), logLevel: "warn" };
    const { output } = await build({ ...config, build: { write: false, minify: false, cssMinify: false } });
    const codeSplitting = { groups: firstLoadGroups(output) };
    await build({ ...config, build: { outDir, rolldownOptions: { output: { codeSplitting } } } });
    // Each copy of the typeface must include its licence.
    await copyFile(path.join(folder, "src/app/fonts/OFL.txt"), path.join(outDir, "assets/OFL.txt"));
    await compressAssets(path.join(outDir, "assets"));
    await writeFile(path.join(outDir, ".built-from"), from);
    // Another build may replace the folder at the same time, so the old one is moved away before it is deleted.
    await rename(dist, oldDist).catch((error) => {
      if (error.code !== "ENOENT") throw error;
    });
    await rename(outDir, dist).catch((error) => {
      // Another build was faster, with the same result.
      if (error.code !== "ENOTEMPTY" && error.code !== "EEXIST") throw error;
    });
  } finally {
    await rm(outDir, { recursive: true, force: true });
    await rm(oldDist, { recursive: true, force: true });
  }
}

async function fingerprint() {
  const hash = createHash("sha256");
  for (const source of [...sources, ...around]) {
    for (const file of await filesOf(path.join(folder, source))) {
      hash
        .update(`${path.relative(folder, file)}\n`)
        .update(await readFile(file))
        .update("\n");
    }
  }
  return hash.digest("hex");
}

async function filesOf(place) {
  const entries = await readdir(place, { recursive: true, withFileTypes: true }).catch((error) => {
    if (error.code === "ENOTDIR") return undefined;
    throw error;
  });
  if (entries === undefined) return [place];
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name))
    .filter((file) => !/\.test\.tsx?$|\/testing\//.test(file))
    .sort();
}

/** Once, here, rather than at each request. */
async function compressAssets(assets) {
  for (const name of await readdir(assets)) {
    if (!/\.(?:js|css|svg)$/.test(name)) continue;
    const file = path.join(assets, name);
    const content = await readFile(file);
    const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY } };
    await writeFile(`${file}.br`, await promisify(brotliCompress)(content, quality));
    await writeFile(`${file}.gz`, await promisify(gzip)(content, { level: 9 }));
  }
}
