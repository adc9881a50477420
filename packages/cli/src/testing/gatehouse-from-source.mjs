// The `gatehouse` command from its TypeScript sources, for tests that need a process of its own. Needs the condition
// gatehouse-source: node --conditions=gatehouse-source gatehouse-from-source.mjs serve …
import { register } from "node:module";

register("../../../../test/typescript-hooks.mjs", import.meta.url);
await import("../main.ts");
