// The control plane of fake-control-plane-process.ts from its TypeScript sources.
import { importBundled } from "../../../../test/bundled-program.mjs";

await importBundled(new URL("./fake-control-plane-process.ts", import.meta.url));
