import { expect, inject, test } from "vitest";
import { waitLimitMs } from "../../../../../test/wait-limit.ts";
import { DatabaseProxy } from "../../testing/faults/database-proxy.ts";
import { Database } from "./database.ts";
import { unprepared } from "./statement.ts";

const selectOne = unprepared<object, []>("SELECT 1");
const sleeping = unprepared<object, []>("SELECT pg_sleep(30)");
const scope = { kind: "operator" } as const;

test("a connection that does not answer ROLLBACK is not used again", async () => {
  const started = await DatabaseProxy.start(inject("database"));
  const limits = { answerTimeoutMs: 1_000, connectTimeoutMs: waitLimitMs };
  const single = new Database({ connection: started.connection, poolSize: 1, ...limits });
  try {
    const failed = single.transaction(scope, async (tx) => {
      await tx.query(selectOne);
      started.proxy.hang();
      throw new Error("not found");
    });
    // Waits for the connection.
    const next = single.snapshot(scope, (tx) => tx.query(selectOne));
    await expect(failed).rejects.toThrow("not found");
    await started.proxy.restore();
    expect(await next).toHaveLength(1);
  } finally {
    await single.close();
    await started.proxy.close();
  }
});

test("closing interrupts transactions that do not end", async () => {
  const closing = new Database({ connection: inject("database"), poolSize: 2, statementTimeoutMs: 60_000 });
  const [slow] = await Promise.allSettled([
    closing.transaction(scope, (tx) => tx.query(sleeping)),
    closing.transaction(scope, (tx) => tx.query(selectOne)).then(() => closing.close()),
  ]);
  expect(slow).toMatchObject({ status: "rejected", reason: { code: "database_unavailable" } });
});
