// The server of crash-server.ts from its TypeScript sources.
import { importBundled } from "../../../../../test/bundled-program.mjs";

await importBundled(new URL("./crash-server.ts", import.meta.url));
