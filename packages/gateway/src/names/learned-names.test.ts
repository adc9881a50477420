import { describe, expect, test } from "vitest";
import { LearnedNames, nameLimits } from "./learned-names.ts";

const wildcard = "*.dev.example.com";
const content = { destinations: { [wildcard]: {}, "app.example.com": {} } };
const ttlMs = 60_000;
const everything = () => true;

/** A different address for each number. */
const address = (number: number) => `10.${number >> 16}.${(number >> 8) & 255}.${number & 255}`;

function asks(names: LearnedNames, device: string, count: number, { from = 0, addresses = 1 } = {}) {
  return Array.from({ length: count }, (_, index) => {
    const number = from + index;
    const answer = Array.from({ length: addresses }, (__, more) => address(number * addresses + more));
    return names.learn({ name: `${device}-${number}.dev.example.com`, key: wildcard }, answer, ttlMs, number, device);
  });
}

describe("learned names", () => {
  test("of a device that asks for too many evict its own oldest names, and no others", () => {
    const names = new LearnedNames();
    asks(names, "quiet", 1, { from: 100_000 });
    asks(names, "loud", 10_001);
    const known = names.named(content, everything);
    expect(known.size).toBe(nameLimits.namesOfDevice + 1);
    expect(known.has(address(100_000))).toBe(true);
    expect(known.has(address(10_000))).toBe(true);
    expect(known.has(address(0))).toBe(false);
  });

  test("survive the eviction by one device while another device uses them", () => {
    const names = new LearnedNames();
    const shared = { name: "shared.dev.example.com", key: wildcard };
    for (const device of ["loud", "quiet"]) names.learn(shared, ["10.255.0.1"], ttlMs, 0, device);
    asks(names, "loud", 1_000);
    expect(names.named(content, everything).has("10.255.0.1")).toBe(true);
  });

  test("of a wildcard have a bounded number of addresses, which no single device can use up", () => {
    const names = new LearnedNames();
    const loud = asks(names, "loud", 1_000, { addresses: 16 });
    expect(loud).not.toContain("full");
    expect(asks(names, "quiet", 200, { from: 100_000 })).not.toContain("full");
    for (let device = 0; device < 10; device++)
      asks(names, `loud-${device}`, 300, { from: 1_000 * device, addresses: 16 });
    expect(names.named(content, everything).size).toBeLessThanOrEqual(nameLimits.addressesOfWildcard);
  });

  test("retain at most the newest addresses of a name, for ten minutes after their TTL", () => {
    const names = new LearnedNames();
    for (let number = 0; number < 100; number++) {
      names.learn({ name: "app.example.com", key: "app.example.com" }, [address(number)], ttlMs, number, undefined);
    }
    const known = [...names.named(content, everything).keys()];
    expect(known).toHaveLength(nameLimits.addressesOfName);
    expect(known).toContain(address(99));
    expect(names.forget(99 + ttlMs + 600_000 - 1)).toBe(true);
    expect([...names.named(content, everything).keys()]).toEqual([address(99)]);
    names.forget(99 + ttlMs + 600_000);
    expect(names.named(content, everything).size).toBe(0);
  });

  test("are resolved again if exact, or in use", () => {
    const names = new LearnedNames();
    asks(names, "ann", 2);
    expect(names.stale(content, 1)).toEqual(["app.example.com"]);
    expect(new Set(names.stale(content, ttlMs + 1))).toEqual(
      new Set(["app.example.com", "ann-0.dev.example.com", "ann-1.dev.example.com"]),
    );
    expect(names.stale(content, 3 * ttlMs + 1)).toEqual(["app.example.com"]);
    expect(names.needsUse(3 * ttlMs + 1)).toBe(true);
    names.used(new Set([address(1)]), 3 * ttlMs);
    expect(names.stale(content, 3 * ttlMs + 1)).toEqual(["app.example.com", "ann-1.dev.example.com"]);
  });

  test("store addresses in one spelling, and leave out those that are closed", () => {
    const names = new LearnedNames();
    const name = { name: "app.example.com", key: "app.example.com" };
    expect(names.learn(name, ["FD80:0:0::11"], ttlMs, 0, undefined)).toBe(true);
    expect(names.learn(name, ["fd80::11"], ttlMs, 0, undefined)).toBe(false);
    expect([...names.named(content, everything).keys()]).toEqual(["fd80::11"]);
    expect(names.named(content, (one) => one !== "fd80::11").size).toBe(0);
  });
});
