// The agent of gateway-agent.ts from its TypeScript sources. Needs the condition gatehouse-source.
import { register } from "node:module";

register("../../../../test/typescript-hooks.mjs", import.meta.url);
await import("./gateway-agent.ts");
