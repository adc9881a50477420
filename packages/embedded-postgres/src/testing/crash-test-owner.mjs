// Starts the embedded PostgreSQL on the data folder in its first argument, prints a line, and waits to be killed.
import { importBundled } from "../../../../test/bundled-program.mjs";

const { startEmbeddedPostgres } = await importBundled(new URL("../embedded-postgres.ts", import.meta.url));
const [, , dataDir] = process.argv;
if (dataDir === undefined) throw new Error("usage: crash-test-owner.mjs <data folder>");
const postgres = await startEmbeddedPostgres({ dataDir, log: () => {}, settings: { fsync: "off" } });
console.log(`running ${postgres.pid}`);
