// The thread for outgoing requests from its TypeScript sources.
import { importBundled } from "../../../../test/bundled-program.mjs";

await importBundled(new URL("../platform/outbound/request-thread.ts", import.meta.url));
