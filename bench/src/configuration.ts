/**
 * A tenant with 10,000 resources and 2,000 policies as one document. The document is applied to an empty tenant,
 * exported, compared, and applied again unchanged, through the API and by the `gatehouse` command. The server's memory
 * is measured too.
 *
 *     npm run bench:configuration [-- --quick]
 */
import { spawn } from "node:child_process";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { cpus, tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { makeBenchTenant, type ServerAnnouncement } from "./bench-tenant.ts";
import { highestMemory, startChild } from "./child-server.ts";
import { reportTarget } from "./targets.ts";

const quick = process.argv.includes("--quick");
const sizes = quick ? { resources: 1_000, policies: 200 } : { resources: 10_000, policies: 2_000 };
const rounds = quick ? 1 : 3;
const targets = { applyMs: 2_500, mebibytes: 350, sliceMs: 20 };
/** The interval at which a command's memory is sampled, in milliseconds. */
const lookMs = 20;
const api = "/tenants/configuration";
const command = fileURLToPath(new URL("../../packages/cli/bin/gatehouse.js", import.meta.url));

const print = (line = "") => process.stdout.write(`${line}\n`);
const server = await startChild<ServerAnnouncement>("./server-process.js");
const folder = await mkdtemp(path.join(tmpdir(), "gatehouse-bench-"));
try {
  await measure();
} finally {
  await server.stop();
  await rm(folder, { recursive: true, force: true });
}

async function measure(): Promise<void> {
  const { announcement } = server;
  print(
    `Node ${process.version}, ${cpus().length} cores; ${sizes.resources.toLocaleString("en")} resources, ` +
      `${sizes.policies.toLocaleString("en")} policies; the worst of ${rounds}`,
  );
  memory("at the start");
  const document = JSON.stringify(madeUpDocument());
  const tenants = await Promise.all(
    Array.from({ length: rounds }, (_, round) => makeBenchTenant(announcement, `Tenant ${round}`)),
  );
  const applied = await timed("apply to an empty tenant", tenants, (tenant) =>
    tenant.call("POST", `${api}/apply`, document),
  );
  memory("after that");
  reportApply(applied);
  const { results: exports } = await timed("export", tenants, (tenant) => tenant.call("GET", api));
  const exported = exports[0] ?? "";
  print(`  the document: ${(exported.length / 1_048_576).toFixed(1)} MiB as JSON`);
  await timed("plan, unchanged", tenants, (tenant) => tenant.call("POST", `${api}/plan`, exported));
  const {
    results: [unchanged = ""],
  } = await timed("apply, unchanged", tenants, (tenant) => tenant.call("POST", `${api}/apply`, exported));
  if (!unchanged.includes('"changes":[]')) throw new Error("an unchanged document changed something");
  memory("at its highest");

  const [tenant] = tenants;
  if (tenant === undefined) return;
  const file = path.join(folder, "tenant.yaml");
  const options = ["--url", announcement.url, "--api-key", tenant.key];
  await timedCommand("gatehouse export", ["export", "--output", file, ...options]);
  print(`  the file: ${((await stat(file)).size / 1_048_576).toFixed(1)} MiB as YAML`);
  await timedCommand("gatehouse plan, unchanged", ["plan", file, ...options]);
  await timedCommand("gatehouse apply, unchanged", ["apply", file, "--yes", ...options]);
  memory("at its highest");
}

function madeUpDocument(): object {
  const gateways = ["Frankfurt", "Dublin", "Oslo"].map((name) => ({ name, wireguardPort: 51820 }));
  const groups = Array.from({ length: 50 }, (_, index) => ({ name: `Group ${index}` }));
  const resources = Array.from({ length: sizes.resources }, (_, index) => ({
    name: `Resource ${index}`,
    type: "PRIVATE",
    description: "Made up for a benchmark.",
    gateways: gateways.slice(0, 2).map(({ name }) => name),
    addresses: [
      { address: `host-${index}.corp.example.com`, protocols: ["HTTPS"] },
      { address: `10.${index >> 14}.${(index >> 6) & 255}.${(index & 63) * 4}/30`, protocols: ["SSH", "HTTPS"] },
    ],
  }));
  const policies = Array.from({ length: sizes.policies }, (_, index) => ({
    name: `Policy ${index}`,
    action: index % 10 !== 0,
    groups: [`Group ${index % 50}`],
    resources: Array.from({ length: 5 }, (_unused, place) => `Resource ${(index * 5 + place) % sizes.resources}`),
    gateways: ["Frankfurt"],
  }));
  const defaultGroup = { name: "Default", roles: ["DEFAULT"], isSamlDefaultGroup: true };
  return { version: 1, groups: [defaultGroup, ...groups], gateways, resources, policies: { PRIVATE: policies } };
}

/** Runs a function for each item in sequence, and prints the slowest items. */
async function timed<T, R>(what: string, items: readonly T[], run: (item: T) => Promise<R>): Promise<Timed<R>> {
  const results: R[] = [];
  let longestMs = 0;
  // Forget the blocks of earlier steps.
  await longestBlock();
  for (const item of items) {
    const startedAt = performance.now();
    results.push(await run(item));
    longestMs = Math.max(longestMs, performance.now() - startedAt);
  }
  const blockMs = await longestBlock();
  print(`${what.padEnd(32)} ${(longestMs / 1000).toFixed(2)} s, longest block ${blockMs.toFixed(1)} ms`);
  return { results, longestMs, blockMs };
}

interface Timed<R> {
  readonly results: readonly R[];
  readonly longestMs: number;
  /** The longest block of the event loop. */
  readonly blockMs: number;
}

function reportApply({ longestMs, blockMs }: Timed<unknown>): void {
  const [resources, policies] = [sizes.resources, sizes.policies].map((size) => size.toLocaleString("en"));
  const name = `apply of ${resources} resources and ${policies} policies to an empty tenant`;
  const { applyMs, mebibytes, sliceMs } = targets;
  const time = `${(longestMs / 1_000).toFixed(2)} s`;
  reportTarget({ name, figure: time, target: `≤ ${applyMs / 1_000} s`, isReached: longestMs <= applyMs });
  const peak = server.memory()?.highest ?? Number.NaN;
  const isSmall = peak <= mebibytes;
  reportTarget({ name, figure: `peak ${peak.toFixed(0)} MiB`, target: `≤ ${mebibytes} MiB`, isReached: isSmall });
  const slice = `longest slice ${blockMs.toFixed(1)} ms`;
  reportTarget({ name, figure: slice, target: `≤ ${sliceMs} ms`, isReached: blockMs <= sliceMs });
}

/** The longest block of the server's event loop since the last call, in milliseconds. */
async function longestBlock(): Promise<number> {
  return Number(await (await fetch(server.announcement.blocks)).text());
}

async function timedCommand(what: string, args: readonly string[]): Promise<void> {
  const startedAt = performance.now();
  const child = spawn(process.execPath, [command, ...args], { stdio: ["ignore", "ignore", "inherit"] });
  let highest: number | undefined;
  const look = setInterval(() => {
    highest = highestMemory(child.pid) ?? highest;
  }, lookMs);
  const code = await new Promise((resolve) => child.once("exit", resolve));
  clearInterval(look);
  if (code !== 0) throw new Error(`${what} ended with ${code}`);
  const mebibytes = highest === undefined ? "" : `, ${highest.toFixed(0)} MiB of memory`;
  print(`${what.padEnd(32)} ${((performance.now() - startedAt) / 1000).toFixed(2)} s${mebibytes}`);
}

function memory(when: string): void {
  const now = server.memory();
  if (now !== undefined)
    print(`  the server's memory ${when}: ${now.now.toFixed(0)} MiB now, ${now.highest.toFixed(0)} MiB at most`);
}
