// Runs one of our programs from its TypeScript sources: from-source.mjs <module, from the root of the repository>
// <arguments>. Requires the condition gatehouse-source.
import { register } from "node:module";

register("../typescript-hooks.mjs", import.meta.url);
const [node, , module, ...args] = process.argv;
process.argv = [node, module, ...args];
await import(new URL(`../../${module}`, import.meta.url).href);
