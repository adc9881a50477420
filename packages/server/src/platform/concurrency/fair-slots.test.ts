import { describe, expect, test } from "vitest";
import { FairSlots } from "./fair-slots.ts";

/** Takes slots until the address gets no more. @returns how many it got */
async function fill(slots: FairSlots, tenantId: string, address: string): Promise<number> {
  for (let taken = 0; ; taken += 1) {
    // A task that never ends keeps its slot; "busy" is there at once.
    const answer = await Promise.race([slots.run(tenantId, address, () => new Promise(() => {})), turn()]);
    if (answer === "busy") return taken;
  }
}

function turn(): Promise<"taken"> {
  return new Promise((resolve) => setImmediate(resolve, "taken"));
}

describe("slots", () => {
  test("of a tenant are not all taken by one address, nor by several", async () => {
    const slots = new FairSlots({ total: 50, perTenant: 10 });
    const addresses = ["192.0.2.1", "192.0.2.2", "192.0.2.3"];
    const taken: number[] = [];
    for (const address of addresses) taken.push(await fill(slots, "one", address));
    expect(taken).toEqual([5, 3, 1]);
    expect(await slots.run("one", "192.0.2.4", async () => "done")).toBe("done");
  });

  test("of a replica are not all taken by one address, nor by a few tenants", async () => {
    const slots = new FairSlots({ total: 50, perTenant: 50 });
    expect(await fill(slots, "one", "192.0.2.1")).toBe(25);
    expect(await fill(slots, "two", "192.0.2.1")).toBe(0);
    expect(await fill(slots, "two", "192.0.2.2")).toBe(13);
    expect(await fill(slots, "one", "192.0.2.3")).toBe(0);
    expect(await slots.run("three", "192.0.2.3", async () => "done")).toBe("done");
  });

  test("are free again once a task has ended or failed", async () => {
    const slots = new FairSlots({ total: 2, perTenant: 2 });
    const fails = () => slots.run("one", "192.0.2.1", () => Promise.reject(new Error("no")));
    for (let run = 0; run < 3; run += 1) await expect(fails()).rejects.toThrow("no");
    expect(await slots.run("one", "192.0.2.1", async () => "done")).toBe("done");
  });
});
