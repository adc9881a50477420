import pg from "pg";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { BusyPoolError, databaseUnavailable, TenantShareError } from "../db/database-errors.ts";
import { TenantRounds, type TenantRoundsOptions } from "./tenant-rounds.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const passTime = (ms: number) => vi.advanceTimersByTimeAsync(ms);

/** Rounds whose tasks end when the test says so. */
function controlled(options: Partial<TenantRoundsOptions> = {}) {
  const log = { warn: vi.fn(), error: vi.fn() };
  const rounds = new TenantRounds({ log, failed: "failed to work; will retry", slots: 2, ...options });
  const started: string[] = [];
  const waits: number[] = [];
  const running = new Map<string, { readonly end: () => void; readonly fail: (error: unknown) => void }>();
  const task = (tenantId: string, waitMs: number) => {
    started.push(tenantId);
    waits.push(waitMs);
    return new Promise<void>((end, fail) => running.set(tenantId, { end, fail }));
  };
  const run = (...tenantIds: readonly string[]) => {
    const round = { isOver: false, error: undefined as unknown };
    rounds
      .run(tenantIds, task)
      .catch((error: unknown) => {
        round.error = error;
      })
      .finally(() => {
        round.isOver = true;
      });
    return round;
  };
  const end = async (...tenantIds: readonly string[]) => {
    await passTime(0);
    for (const tenantId of tenantIds) running.get(tenantId)?.end();
    await passTime(0);
  };
  const fail = async (tenantId: string, error: unknown = new Error("refused")) => {
    running.get(tenantId)?.fail(error);
    await passTime(0);
  };
  return { rounds, log, started, waits, task, run, end, fail };
}

describe("a round", () => {
  test("runs a few tasks at the same time, each tenant once, and ends after all of them", async () => {
    const { run, started, end } = controlled();
    const round = run("a", "b", "a", "c");
    await passTime(0);
    expect(started).toEqual(["a", "b"]);
    await end("a");
    expect(started).toEqual(["a", "b", "c"]);
    await end("b");
    expect(round.isOver).toBe(false);
    await end("c");
    expect(round).toEqual({ isOver: true, error: undefined });
  });

  test("throws the first failure after the other tasks, and names the tenant in the log", async () => {
    const { run, log, end, fail } = controlled();
    const round = run("a", "b", "c");
    await passTime(0);
    const error = new Error("refused");
    await fail("a", error);
    expect(round.isOver).toBe(false);
    await end("b", "c");
    await end("c");
    expect(round).toEqual({ isOver: true, error });
    const fields = { err: error, tenantId: "a", retryMs: 1_000 };
    expect(log.error.mock.calls).toEqual([[fields, "failed to work; will retry"]]);
  });

  test("does not wait for a slow task, and frees its slot", async () => {
    const { run, started, end } = controlled({ slots: 1 });
    const round = run("slow", "quick", "other");
    await passTime(1_999);
    expect(started).toEqual(["slow"]);
    expect(round.isOver).toBe(false);
    await passTime(1);
    expect(started).toEqual(["slow", "quick"]);
    expect(round.isOver).toBe(true);
    // One task of a tenant at a time.
    const next = run("slow", "quick");
    await end("quick");
    expect(next.isOver).toBe(true);
    await end("other");
    expect(started).toEqual(["slow", "quick", "other"]);
    await end("slow");
    run("slow");
    await passTime(0);
    expect(started.at(-1)).toBe("slow");
  });

  test("ends although all slots are taken, and a slow task takes a slow slot when one is free", async () => {
    const { run, started, end } = controlled({ slots: 2, slowSlots: 1 });
    run("a", "b", "c");
    await passTime(4_000);
    expect(started).toEqual(["a", "b", "c"]);
    const round = run("d");
    await passTime(2_000);
    expect(round.isOver).toBe(true);
    expect(started).toHaveLength(3);
    // Its slow slot.
    await end("a");
    expect(started).toEqual(["a", "b", "c", "d"]);
  });

  test("waits for slow tasks if rounds are rare", async () => {
    const { run, end } = controlled({ isRare: true });
    const round = run("a");
    await passTime(3_600_000);
    expect(round.isOver).toBe(false);
    await end("a");
    expect(round.isOver).toBe(true);
  });

  test("ends with an outage of the database, and starts no other task", async () => {
    const { run, log, started, fail } = controlled({ slots: 1 });
    const error = databaseUnavailable(Object.assign(new Error("refused"), { code: "ECONNREFUSED" }));
    const round = run("a", "b");
    await passTime(0);
    await fail("a", error);
    expect(round).toEqual({ isOver: true, error });
    expect(started).toEqual(["a"]);
    // No tenant is paused because of it.
    run("a", "b");
    await passTime(0);
    expect(started).toEqual(["a", "a"]);
    expect(log.warn).not.toHaveBeenCalled();
  });

  test.each([
    ["a lock", Object.assign(new pg.DatabaseError("lock timeout", 0, "error"), { code: "55P03" })],
    ["a row", databaseUnavailable(Object.assign(new pg.DatabaseError("timeout", 0, "error"), { code: "57014" }))],
    ["a connection", databaseUnavailable(new TenantShareError())],
    ["a free connection of the pool", databaseUnavailable(new BusyPoolError())],
    ["an answer", databaseUnavailable(new Error("Query read timeout"))],
  ])("serves the other tenants if one waits too long for %s", async (_, error) => {
    const { run, log, started, end, fail } = controlled({ slots: 1 });
    const round = run("a", "b");
    await passTime(0);
    await fail("a", error);
    await end("b");
    expect(started).toEqual(["a", "b"]);
    // The error is logged, and the round does not fail.
    expect(round).toEqual({ isOver: true, error: undefined });
    expect(log.warn).toHaveBeenCalledOnce();
  });
});

const busy = () => databaseUnavailable(new TenantShareError());

describe("a tenant whose task failed", () => {
  test("pauses longer after each failure, and its next task may wait longer for locks", async () => {
    const { run, started, waits, fail, end } = controlled();
    for (const pauseMs of [1_000, 1_000, 2_000, 2_000, 5_000, 5_000, 5_000]) {
      run("a");
      await passTime(0);
      const { length } = started;
      await fail("a");
      await passTime(pauseMs - 1);
      run("a");
      await passTime(0);
      expect(started).toHaveLength(length);
      await passTime(1);
    }
    expect(waits).toEqual([500, 2_000, 8_500, 9_000, 9_500, 10_000, 10_000]);
    run("a");
    await end("a");
    run("a");
    await passTime(0);
    expect(waits.at(-1)).toBe(500);
  });

  test("does not delay a round, and is served after the others", async () => {
    const { run, started, end, fail } = controlled();
    run("a", "b");
    await passTime(0);
    await fail("a");
    await fail("b");
    await passTime(1_000);
    run("c", "d");
    await passTime(0);
    const round = run("a", "b", "e", "f");
    await end("c", "d");
    expect(started.slice(4)).toEqual(["e", "f"]);
    await end("e", "f");
    expect(started.slice(6)).toEqual(["a", "b"]);
    expect(round).toEqual({ isOver: true, error: undefined });
  });

  test("once is served before tenants that fail often, even if those occupy all slow slots", async () => {
    const { run, started, fail } = controlled({ slowSlots: 1 });
    const hostile = ["x", "y", "z"];
    for (const pauseMs of [1_000, 1_000]) {
      run(...hostile);
      for (const tenantId of hostile) {
        await passTime(0);
        await fail(tenantId, busy());
      }
      await passTime(pauseMs);
    }
    run("honest");
    await passTime(0);
    await fail("honest", busy());
    run(...hostile);
    await passTime(1_000);
    run("honest");
    await passTime(0);
    expect(started.slice(-2)).toEqual(["x", "honest"]);
  });

  test("retries with short waits after a long idle time, but keeps its failure count", async () => {
    const { rounds, run, waits, fail } = controlled();
    for (const pauseMs of [1_000, 10 * 60_000 + 1_002, 2_000]) {
      run("a");
      await passTime(0);
      await fail("a");
      await passTime(pauseMs);
    }
    run("a");
    await passTime(0);
    expect(waits).toEqual([500, 2_000, 500, 9_000]);
    expect(rounds.failing).toEqual(["a"]);
  });

  test("is served again after its pause if rounds are rare", async () => {
    const { run, started, waits, fail, end } = controlled({ isRare: true });
    run("a");
    await passTime(0);
    await fail("a", busy());
    await passTime(999);
    expect(started).toEqual(["a"]);
    await passTime(1);
    expect(waits).toEqual([500, 2_000]);
    await end("a");
    await passTime(3_600_000);
    expect(started).toHaveLength(2);
  });

  test("waits for the next round after a permanent failure if rounds are rare", async () => {
    const { run, started, fail } = controlled({ isRare: true });
    run("a");
    await passTime(0);
    await fail("a");
    await passTime(3_600_000);
    expect(started).toEqual(["a"]);
  });

  test("that meets an outage when it is served again does not fail the next round", async () => {
    const { run, started, fail, end } = controlled({ isRare: true });
    run("a");
    await passTime(0);
    await fail("a", busy());
    await passTime(1_000);
    await fail("a", databaseUnavailable(Object.assign(new Error("refused"), { code: "ECONNREFUSED" })));
    await passTime(60_000);
    const next = run("a");
    await end("a");
    expect(started).toHaveLength(3);
    expect(next).toEqual({ isOver: true, error: undefined });
  });

  test("has its failure thrown by the next round", async () => {
    const { run, fail } = controlled();
    run("a");
    await passTime(0);
    await fail("a");
    await passTime(1_000);
    const second = run("a");
    await passTime(0);
    expect(second).toEqual({ isOver: true, error: undefined });
    const error = new Error("refused again");
    await fail("a", error);
    const third = run();
    await passTime(0);
    expect(third.error).toBe(error);
  });
});

test("all pages are served, and the first failure is thrown at the end", async () => {
  const { rounds } = controlled();
  const ids = ["a", "b", "c", "d", "e"];
  const served: string[] = [];
  const read = async (afterTenantId: string) => ids.filter((id) => id > afterTenantId).slice(0, 2);
  const task = async (tenantId: string) => {
    served.push(tenantId);
    if (tenantId === "b") throw new Error("refused");
  };
  await expect(rounds.runPages(read, task)).rejects.toThrow("refused");
  expect(served).toEqual(ids);
});

test("an outage of the database ends the pages", async () => {
  const { rounds } = controlled();
  const read = vi.fn(async () => ["a"]);
  const away = () => Promise.reject(databaseUnavailable(new Error("Connection terminated")));
  await expect(rounds.runPages(read, away)).rejects.toMatchObject({ code: "database_unavailable" });
  expect(read).toHaveBeenCalledOnce();
});

describe("at shutdown", () => {
  /** Starts the shutdown, and returns its state. */
  function finish(
    { rounds, task }: Pick<ReturnType<typeof controlled>, "rounds" | "task">,
    tenantIds: readonly string[],
  ) {
    const state = { isFinished: false };
    void rounds.finish(tenantIds, task, "lost work").then(() => {
      state.isFinished = true;
    });
    return state;
  }

  test("paused tenants are served after the others, and tenants with a task in progress once more", async () => {
    const { rounds, run, started, waits, task, end, fail, log } = controlled();
    run("a", "b");
    await passTime(0);
    await fail("a", busy());
    const state = finish({ rounds, task }, ["a", "c", "d", "b"]);
    await passTime(0);
    expect(started.slice(2)).toEqual(["c", "d"]);
    await end("c", "d");
    await end("a", "b");
    await end("b");
    expect(started.slice(4)).toEqual(["a", "b"]);
    expect(state.isFinished).toBe(true);
    expect(waits.slice(2)).toEqual([2_000, 2_000, 2_000, 2_000]);
    expect(log.error).not.toHaveBeenCalled();
  });

  test("tasks that wait for a slot end, and the loss is logged", async () => {
    const { rounds, run, started, task, end, fail, log } = controlled({ slots: 1 });
    run("a", "b");
    await passTime(0);
    const state = finish({ rounds, task }, ["b", "c"]);
    await passTime(0);
    expect(started).toEqual(["a", "c"]);
    const error = busy();
    await end("c");
    await fail("b", error);
    expect(state.isFinished).toBe(true);
    expect(log.error.mock.calls).toEqual([[{ err: error, tenants: 1, tenantIds: ["b"] }, "lost work"]]);
  });

  test("ends rounds that wait for slow tasks, after the deadline, and reads no further page", async () => {
    const { rounds, task, started } = controlled({ isRare: true });
    const read = vi.fn(async () => ["a"]);
    let isOver = false;
    void rounds.runPages(read, task).then(() => {
      isOver = true;
    });
    await passTime(0);
    void rounds.stop();
    await passTime(9_999);
    expect(isOver).toBe(false);
    await passTime(1);
    expect(isOver).toBe(true);
    expect(read).toHaveBeenCalledOnce();
    expect(started).toEqual(["a"]);
  });

  test("waits for no task beyond the deadline", async () => {
    const { rounds, run, started, task, log } = controlled();
    run("a");
    await passTime(0);
    const state = finish({ rounds, task }, ["a", "b", "c", "d", "e"]);
    let isStopped = false;
    void rounds.stop().then(() => {
      isStopped = true;
    });
    await passTime(9_999);
    expect([state.isFinished, isStopped]).toEqual([false, false]);
    await passTime(1);
    expect([state.isFinished, isStopped]).toEqual([true, true]);
    const lost = { err: undefined, tenants: 5, tenantIds: ["a", "b", "c", "d", "e"] };
    expect(log.error.mock.calls).toEqual([[lost, "lost work"]]);
    expect(started).toEqual(["a", "b", "c"]);
  });
});
