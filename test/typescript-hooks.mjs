// Module hooks that let plain Node run the TypeScript sources, for tests that need a separate process to kill.
import { createHash } from "node:crypto";
import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** A folder that the processes of one test share, so that only the first process has to transpile. */
const sharedFolder = process.env.GATEHOUSE_TEST_TRANSPILED;

/** @type {import("node:module").LoadHook} */
export async function load(url, context, nextLoad) {
  if (!url.endsWith(".ts")) return nextLoad(url, context);
  const source = await readFile(fileURLToPath(url), "utf8");
  return { format: "module", source: await transpiled(source), shortCircuit: true };
}

/** @param {string} source */
async function transpiled(source) {
  if (sharedFolder === undefined) return transpile(source);
  const path = join(sharedFolder, `${createHash("sha256").update(source).digest("hex")}.js`);
  try {
    return await readFile(path, "utf8");
  } catch {
    const output = await transpile(source);
    // Written atomically, because another process may be reading it.
    const draft = `${path}.${process.pid}`;
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
