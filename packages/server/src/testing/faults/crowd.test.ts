/** Many connections at once: ten thousand with the full budget. */
import { execFile, fork } from "node:child_process";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { budgeted } from "../../../../../test/budget.ts";
import { startTestServer, type TestServer, type TestTenant } from "../test-server.ts";
import { until } from "../until.ts";

const connections = budgeted(10_000, 2_000);
const requests = budgeted(500, 100);
/** Other open descriptors of this process: its database connections, files and pipes. */
const otherDescriptors = 500;
const crowd = fileURLToPath(new URL("./crowd.mjs", import.meta.url));

let server: TestServer;
let tenant: TestTenant;

beforeAll(async () => {
  server = await startTestServer();
  tenant = await server.newTenant();
  await server.listen();
});
afterAll(() => server.close());

/** The most descriptors that a process may open. Node raises its own limit to the hard limit at its start. */
async function descriptorLimit(): Promise<number> {
  const { stdout } = await promisify(execFile)("/bin/sh", ["-c", "ulimit -Hn"]);
  return stdout.trim() === "unlimited" ? Number.POSITIVE_INFINITY : Number(stdout);
}

function openConnections(): Promise<number> {
  return new Promise((resolve, reject) => {
    server.app.server.getConnections((error, open) => (error === null ? resolve(open) : reject(error)));
  });
}

test(`${connections} connections are served at the same time`, async (context) => {
  const limit = await descriptorLimit();
  if (limit < connections + otherDescriptors) {
    context.skip(
      `a process may have ${limit} open files here (ulimit -Hn), and the test needs ${connections + otherDescriptors}`,
    );
  }
  const { port } = server.app.server.address() as AddressInfo; // of a server that listens on TCP
  const child = fork(crowd, [String(port), String(connections), String(requests)], { execArgv: [] });
  try {
    const report = async () => (await once(child, "message"))[0];
    expect(await report()).toEqual({ open: connections });
    // The kernel completes connections before the server accepts them.
    await until("the server has taken them all", async () => (await openConnections()) === connections);
    // One more client, which sends a regular request.
    const response = await fetch(`http://127.0.0.1:${port}/tenants/protocols`, {
      method: "POST",
      headers: { apikey: tenant.key, "content-type": "application/json" },
      body: JSON.stringify({ networkProtocols: [{ protocol: "TCP", port: "8443" }] }),
    });
    expect(response.status).toBe(201);
    child.send("ask");
    expect(await report()).toEqual({ asked: requests, answered: requests });
    child.send("go");
  } finally {
    child.kill();
  }
});
