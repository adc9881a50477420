import { describe, expect, test } from "vitest";
import { FairPlaces } from "./fair-places.ts";

/** Takes slots until the address gets no more. @returns how many it got */
async function fill(places: FairPlaces, tenantId: string, address: string): Promise<number> {
  for (let taken = 0; ; taken += 1) {
    // A task that never ends keeps its slot; "busy" is there at once.
    const answer = await Promise.race([places.run(tenantId, address, () => new Promise(() => {})), turn()]);
    if (answer === "busy") return taken;
  }
}

function turn(): Promise<"taken"> {
  return new Promise((resolve) => setImmediate(resolve, "taken"));
}

describe("slots", () => {
  test("of a tenant are not all taken by one address, nor by several", async () => {
    const places = new FairPlaces({ total: 50, perTenant: 10 });
    const addresses = ["192.0.2.1", "192.0.2.2", "192.0.2.3"];
    const taken: number[] = [];
    for (const address of addresses) taken.push(await fill(places, "one", address));
    expect(taken).toEqual([5, 3, 1]);
    expect(await places.run("one", "192.0.2.4", async () => "done")).toBe("done");
  });

  test("of a replica are not all taken by one address, nor by a few tenants", async () => {
    const places = new FairPlaces({ total: 50, perTenant: 50 });
    expect(await fill(places, "one", "192.0.2.1")).toBe(25);
    expect(await fill(places, "two", "192.0.2.1")).toBe(0);
    expect(await fill(places, "two", "192.0.2.2")).toBe(13);
    expect(await fill(places, "one", "192.0.2.3")).toBe(0);
    expect(await places.run("three", "192.0.2.3", async () => "done")).toBe("done");
  });

  test("are free again once a task has ended or failed", async () => {
    const places = new FairPlaces({ total: 2, perTenant: 2 });
    const fails = () => places.run("one", "192.0.2.1", () => Promise.reject(new Error("no")));
    for (let run = 0; run < 3; run += 1) await expect(fails()).rejects.toThrow("no");
    expect(await places.run("one", "192.0.2.1", async () => "done")).toBe("done");
  });
});
