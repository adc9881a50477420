// The control plane of fake-control-plane-process.ts from its TypeScript sources. Needs the condition gatehouse-source.
import { register } from "node:module";

register("../../../../test/typescript-hooks.mjs", import.meta.url);
await import("./fake-control-plane-process.ts");
