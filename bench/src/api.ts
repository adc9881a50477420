/**
 * All performance targets in one table: reads and writes of the API, batches of users, configurations, pages deep in a
 * list, previews, decisions over HTTP, large tenants and first connections of gateways. Each part is a separate
 * benchmark, whose output precedes the table.
 *
 *     npm run bench:api [-- --quick] [--only=loads,writes,…]
 *
 * The whole table takes 20 minutes to an hour. Run it on a machine without other work.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { type TargetRow, tableOf } from "./targets.ts";

interface Part {
  readonly module: string;
  readonly complete: readonly string[];
  /** The arguments of a short run with small sizes. */
  readonly quick: readonly string[];
  readonly flags?: readonly string[];
}

const parts: Readonly<Record<string, Part>> = {
  loads: { module: "./api-loads.js", complete: [], quick: ["--quick"] },
  writes: { module: "./writes.js", complete: [], quick: ["--quick"] },
  users: { module: "./users.js", complete: [], quick: ["--quick"] },
  configuration: { module: "./configuration.js", complete: [], quick: ["--quick"] },
  "page-depth": { module: "./page-depth.js", complete: [], quick: ["--resources=50000"] },
  previews: {
    module: "./decisions.js",
    complete: ["--only=previews"],
    quick: ["--only=previews", "--quick"],
    // Node.js 20 crashed in inlined calls of WebAssembly, which another part of this benchmark makes.
    flags: ["--no-turbo-inline-js-wasm-calls"],
  },
  evaluations: { module: "./evaluations.js", complete: [], quick: ["--quick"] },
  "large-tenant": {
    module: "./large-tenant.js",
    complete: [],
    quick: ["--quick"],
    flags: ["--max-old-space-size=6144"],
  },
  propagation: {
    module: "./propagation.js",
    complete: ["--gateways=1000", "--devices=30000"],
    quick: ["--gateways=1000", "--devices=5000", "--quick"],
  },
};

const { values: options } = parseArgs({
  options: { quick: { type: "boolean", default: false }, only: { type: "string" } },
});
const wanted = options.only?.split(",") ?? Object.keys(parts);
const rows: TargetRow[] = [];
for (const name of wanted) rows.push(...(await measure(name)));
process.stdout.write(`\n${tableOf(rows)}\n`);

/** @returns a row that says so if the benchmark failed */
async function measure(name: string): Promise<readonly TargetRow[]> {
  const part = parts[name];
  if (part === undefined) throw new Error(`Unknown part "${name}". Use ${Object.keys(parts).join(", ")}.`);
  process.stdout.write(`\n${name}\n`);
  const found: TargetRow[] = [];
  const child = fork(fileURLToPath(new URL(part.module, import.meta.url)), options.quick ? part.quick : part.complete, {
    execArgv: [...(part.flags ?? [])],
  });
  child.on("message", (row) => found.push(row as TargetRow)); // as `reportTarget` sends it
  // Rows can arrive after the end of the process, but not after the end of the channel.
  const [[code]] = await Promise.all([once(child, "exit"), once(child, "disconnect")]);
  if (code === 0) return found;
  process.exitCode = 1;
  return [...found, { name, figure: `the benchmark ended with ${code}`, target: "0", isReached: false }];
}
