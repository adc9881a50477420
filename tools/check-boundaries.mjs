/**
 * Checks the imports of the repository in the current folder: the rules of `.dependency-cruiser.cjs`, and cycles
 * between folders. Both use one list of modules, because reading the imports of all modules takes most of the time.
 */
import { fileURLToPath } from "node:url";
import { cruise, format } from "dependency-cruiser";
import extractOptions from "dependency-cruiser/config-utl/extract-depcruise-options";
import extractTsConfig from "dependency-cruiser/config-utl/extract-ts-config";
import { folderCycles } from "./folder-cycles.mjs";

const options = await extractOptions(fileURLToPath(new URL("../.dependency-cruiser.cjs", import.meta.url)));
const { output } = await cruise(["packages", "bench", "packaging"], options, undefined, {
  tsConfig: extractTsConfig(options.tsConfig?.fileName),
});
if (typeof output === "string") throw new Error("dependency-cruiser returned a report instead of modules");
const report = await format(output, { outputType: "err" });
console.log(report.output);

const cycles = folderCycles(output.modules);
for (const { from, to } of cycles) console.log(`error folder-cycle: ${from} → ${to} → … → ${from}`);
if (cycles.length > 0) {
  console.log("Folders depend on each other in one direction only. Move the shared part to a third folder.");
}
if (report.exitCode > 0 || cycles.length > 0) process.exitCode = 1;
