// Starts the embedded PostgreSQL on the data folder in its first argument, prints a line, and waits to be killed.
import { register } from "node:module";

register("../../../test/typescript-hooks.mjs", import.meta.url);
const { startEmbeddedPostgres } = await import("./embedded-postgres.ts");
const [, , dataDir] = process.argv;
if (dataDir === undefined) throw new Error("usage: crash-test-owner.mjs <data folder>");
const postgres = await startEmbeddedPostgres({ dataDir, log: () => {}, settings: { fsync: "off" } });
console.log(`running ${postgres.pid}`);
