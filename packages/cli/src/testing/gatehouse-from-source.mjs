// The `gatehouse` command from its TypeScript sources, for tests that need a process of its own.
import { importBundled } from "../../../../test/bundled-program.mjs";

await importBundled(new URL("../main.ts", import.meta.url));
