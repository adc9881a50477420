// The `gatehouse` command from its TypeScript sources, for tests that need a separate process.
import { importBundled } from "../../../../test/bundled-program.mjs";

await importBundled(new URL("../main.ts", import.meta.url));
