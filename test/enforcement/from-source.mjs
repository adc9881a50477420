// Runs one of our programs from its TypeScript sources: from-source.mjs <module, from the root of the repository>
// <arguments>.
import { importBundled } from "../bundled-program.mjs";

const [node, , module, ...args] = process.argv;
process.argv = [node, module, ...args];
await importBundled(new URL(`../../${module}`, import.meta.url));
