/** Builds the console, unless what it is made of is what it was made of last: so that a start is fast when nothing changed. */
import { createHash } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";

const folder = fileURLToPath(new URL(".", import.meta.url));
const dist = path.join(folder, "dist");
const stamp = path.join(dist, ".built-from");
const sources = ["src", "index.html", "vite.config.ts", "package.json", "build-if-changed.mjs"];
const around = ["../client/src", "../contract/src/permissions.ts", "../../package-lock.json"];

const from = await fingerprint();
if ((await readFile(stamp, "utf8").catch(() => "")) !== from) {
  const { build } = await import("vite");
  await build({ root: folder, configFile: path.join(folder, "vite.config.ts"), logLevel: "warn" });
  await compressAssets();
  await writeFile(stamp, from);
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
    .filter((entry) => entry.isFile() && !/\.test\.tsx?$/.test(entry.name))
    .map((entry) => path.join(entry.parentPath, entry.name))
    .sort();
}

/** Once, here, rather than at each request. */
async function compressAssets() {
  const assets = path.join(dist, "assets");
  for (const name of await readdir(assets)) {
    if (!/\.(?:js|css|svg)$/.test(name)) continue;
    const file = path.join(assets, name);
    const content = await readFile(file);
    const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY } };
    await writeFile(`${file}.br`, await promisify(brotliCompress)(content, quality));
    await writeFile(`${file}.gz`, await promisify(gzip)(content, { level: 9 }));
  }
}
