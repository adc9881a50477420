// Module hooks that let plain Node run the TypeScript sources, for tests that need a separate process to kill.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync } from "node:fs";
import { readFile, rename, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

/** Retained between runs and shared by all processes, so that each source is transpiled once. */
const cache = new URL("../node_modules/.cache/gatehouse-sources/", import.meta.url);
mkdirSync(cache, { recursive: true });
/** Entries are named by a hash of the source and of all that determines its output. */
const transpiler = [import.meta.url, new URL("../node_modules/typescript/package.json", import.meta.url)]
  .map((file) => readFileSync(fileURLToPath(file), "utf8"))
  .join("");

/** @type {import("node:module").LoadHook} */
export async function load(url, context, nextLoad) {
  if (!url.endsWith(".ts")) return nextLoad(url, context);
  const source = await readFile(fileURLToPath(url), "utf8");
  return { format: "module", source: await transpiled(source), shortCircuit: true };
}

/** @param {string} source */
async function transpiled(source) {
  const path = new URL(`${createHash("sha256").update(transpiler).update(source).digest("hex")}.js`, cache);
  try {
    return await readFile(path, "utf8");
  } catch {
    const output = await transpile(source);
    // Written atomically, because another process may be reading it.
    const draft = new URL(`${path.href}.${process.pid}`);
    await writeFile(draft, output);
    await rename(draft, path);
    return output;
  }
}

/** @param {string} source */
async function transpile(source) {
  const { default: ts } = await import("typescript");
  const compilerOptions = {
    module: ts.ModuleKind.ESNext,
    target: ts.ScriptTarget.ES2023,
    verbatimModuleSyntax: true,
  };
  return ts.transpileModule(source, { compilerOptions }).outputText;
}
