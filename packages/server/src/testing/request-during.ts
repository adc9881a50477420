/** A request that arrives while a change is about to commit. */
import { lockGeneration } from "../platform/tenancy/generation.queries.ts";
import { holdTenant } from "../platform/tenancy/tenant-lock.queries.ts";
import type { TenantTx } from "../platform/tenancy/tenant-tx.ts";
import { blocksOthers } from "./held-locks.queries.ts";
import type { TestServer, TestTenant } from "./test-server.ts";
import { until } from "./until.ts";

/** Runs a change, sends a request before its commit, and commits once the request waits or was answered. */
export async function requestDuring<Reply>(
  server: TestServer,
  tenant: TestTenant,
  change: (tx: TenantTx) => Promise<unknown>,
  request: () => Promise<Reply>,
): Promise<{ readonly reply: Reply | undefined; readonly waited: boolean }> {
  let reply: Promise<Reply> | undefined;
  let waited = true;
  await server.database.transaction({ kind: "tenant", tenantId: tenant.id }, async ({ query }) => {
    const tx = { tenantId: tenant.id, query };
    await change(tx);
    let isAnswered = false;
    reply = request();
    void reply.then(() => {
      isAnswered = true;
    });
    await until("the request waits", async () => isAnswered || (await blocksOthers(tx)));
    waited = !isAnswered;
  });
  return { reply: await reply, waited };
}

/** Holds the locks of a command around a change. */
export function asCommand(change: (tx: TenantTx) => Promise<unknown>): (tx: TenantTx) => Promise<void> {
  return async (tx) => {
    await holdTenant(tx, tx.tenantId, false);
    await change(tx);
    await lockGeneration(tx);
  };
}
