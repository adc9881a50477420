/**
 * Bulk-creates users through the API, a hundred at a time.
 *
 *     npm run bench:users [-- --quick]
 */
import { cpus } from "node:os";
import { makeBenchTenant, type ServerAnnouncement } from "./bench-tenant.ts";
import { startChild } from "./child-server.ts";
import { reportTarget } from "./targets.ts";

const quick = process.argv.includes("--quick");
const users = quick ? 10_000 : 100_000;
const batch = 100;
const callers = 4;
const targets = { perSecond: 3_000, p99Ms: 400 };

const print = (line: string) => process.stdout.write(`${line}\n`);
const server = await startChild<ServerAnnouncement>("./server-process.js");
try {
  const tenant = await makeBenchTenant(server.announcement, "Users");
  const batches = Array.from({ length: users / batch }, (_, index) => index);
  const latencies: number[] = [];
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: callers }, work));
  const seconds = (performance.now() - startedAt) / 1000;

  async function work(): Promise<void> {
    for (let index = batches.shift(); index !== undefined; index = batches.shift()) {
      const emails = Array.from({ length: batch }, (_, place) => ({ email: `person-${index}-${place}@example.com` }));
      const sentAt = performance.now();
      await tenant.call("POST", "/tenants/users", JSON.stringify(emails));
      latencies.push(performance.now() - sentAt);
    }
  }

  latencies.sort((a, b) => a - b);
  const at = (share: number) => Math.round(latencies[Math.floor(latencies.length * share)] ?? 0);
  const perSecond = users / seconds;
  print(
    `Node ${process.version}, ${cpus().length} cores; ${users.toLocaleString("en")} users in batches of ${batch}, ${callers} callers`,
  );
  print(
    `${perSecond.toFixed(0)} users/s, ${seconds.toFixed(1)} s in all; a batch p50 ${at(0.5)} ms, p99 ${at(0.99)} ms`,
  );
  const name = `${users.toLocaleString("en")} users in batches of ${batch}, ${callers} callers`;
  reportTarget({
    name,
    figure: `${perSecond.toFixed(0)}/s`,
    target: `≥ ${targets.perSecond.toLocaleString("en")}/s`,
    isReached: perSecond >= targets.perSecond,
  });
  reportTarget({
    name,
    figure: `p99 ${at(0.99)} ms`,
    target: `≤ ${targets.p99Ms} ms`,
    isReached: at(0.99) <= targets.p99Ms,
  });
  const processor = server.processorSeconds();
  if (processor !== undefined) print(`${((processor * 1e6) / users).toFixed(0)} µs of the server's CPU time per user`);
  const memory = server.memory();
  if (memory !== undefined)
    print(`the server's memory (RSS): ${memory.now.toFixed(0)} MiB now, ${memory.highest.toFixed(0)} MiB at most`);
} finally {
  await server.stop();
}
