import { describe, expect, test } from "vitest";
import { StoppedClock } from "../testing/stopped-clock.ts";
import { HostResolver, hostAndPort } from "./host-resolver.ts";

test.each([
  ["gateway.example.com:51820", { host: "gateway.example.com", port: 51820 }],
  ["192.0.2.1:1", { host: "192.0.2.1", port: 1 }],
  ["[2001:db8::1]:65535", { host: "2001:db8::1", port: 65535 }],
])("parses the endpoint %s", (text, parts) => {
  expect(hostAndPort(text)).toEqual(parts);
});

describe("a host resolver", () => {
  const clock = new StoppedClock();
  let answer: readonly string[] = [];
  let queries = 0;
  const resolver = new HostResolver(clock, async () => {
    queries += 1;
    if (answer.length === 0) throw new Error("ENOTFOUND");
    return answer;
  });
  const host = "gateway.example.com";

  test("caches an answer for a minute, and keeps the order of its addresses", async () => {
    answer = ["192.0.2.2", "192.0.2.1"];
    expect(await resolver.resolve(host)).toEqual(answer);
    answer = ["192.0.2.3", "192.0.2.1", "192.0.2.2"];
    expect(await resolver.resolve(host)).toEqual(["192.0.2.2", "192.0.2.1"]);
    clock.pass(60_000);
    expect(await resolver.resolve(host)).toEqual(["192.0.2.2", "192.0.2.1", "192.0.2.3"]);
    expect(queries).toBe(2);
  });

  test("queries hosts again at once after their answers have expired", async () => {
    resolver.expire();
    expect(resolver.cached(host)).toEqual(["192.0.2.2", "192.0.2.1", "192.0.2.3"]);
    answer = ["192.0.2.3"];
    expect(await resolver.resolve(host)).toEqual(["192.0.2.3"]);
    answer = ["192.0.2.2", "192.0.2.1", "192.0.2.3"];
    resolver.expire();
    expect(await resolver.resolve(host)).toEqual(["192.0.2.3", "192.0.2.2", "192.0.2.1"]);
  });

  test("returns the previous addresses while queries fail or the resolver is silent", async () => {
    answer = [];
    clock.pass(60_000);
    expect(await resolver.resolve(host)).toEqual(["192.0.2.3", "192.0.2.2", "192.0.2.1"]);
    const silent = new HostResolver(clock, () => new Promise(() => {}));
    const resolved = silent.resolve(host);
    clock.pass(3_000);
    expect(await resolved).toEqual([]);
  });

  test("forgets other hosts", () => {
    resolver.retain(new Set());
    expect(resolver.cached(host)).toEqual([]);
    expect(resolver.cached("192.0.2.9")).toEqual(["192.0.2.9"]);
  });
});
