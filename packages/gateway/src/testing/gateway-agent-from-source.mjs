// The agent of gateway-agent.ts from its TypeScript sources.
import { importBundled } from "../../../../test/bundled-program.mjs";

await importBundled(new URL("./gateway-agent.ts", import.meta.url));
