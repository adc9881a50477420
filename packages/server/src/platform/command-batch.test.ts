import pg from "pg";
import { expect, test } from "vitest";
import { CommandBatch } from "./command-batch.ts";
import type { TenantTx } from "./tenancy/tenant-tx.ts";

/** A batch whose statements are recorded, and fail with an SQLSTATE. */
function createBatch(state?: string) {
  let nowMs = 0;
  const limits: unknown[] = [];
  const query = async (...[, limit]: readonly unknown[]) => {
    limits.push(limit);
    return [{ former: "15s" }];
  };
  const batch = new CommandBatch({
    tx: { tenantId: "", query } as unknown as TenantTx, // the batch only sends statements
    recorded: [],
    impact: undefined,
    clock: { now: () => new Date(0), elapsedMs: () => nowMs },
    tooLong: "preview_too_long",
  });
  const read = () =>
    batch.readInTime(async () => {
      if (state !== undefined) throw Object.assign(new pg.DatabaseError("", 0, "error"), { code: state });
      return "read";
    });
  return {
    read,
    limits,
    wait: (ms: number) => {
      nowMs += ms;
    },
  };
}

test("a read of a batch has the rest of the time of the batch, and restores the limit of its transaction", async () => {
  const { read, limits, wait } = createBatch();
  wait(5_000);
  expect(await read()).toBe("read");
  expect(limits).toEqual(["3000ms", "15s"]);
});

test("a read that reaches the time limit, or would start after it, fails with the code of the batch", async () => {
  const late = createBatch("57014");
  await expect(late.read()).rejects.toMatchObject({ code: "preview_too_long" });
  const { read, wait, limits } = createBatch();
  wait(8_001);
  await expect(read()).rejects.toMatchObject({ code: "preview_too_long" });
  expect(limits).toEqual([]);
  await expect(createBatch("42501").read()).rejects.toMatchObject({ code: "42501" });
});
