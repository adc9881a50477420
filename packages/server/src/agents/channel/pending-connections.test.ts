import { describe, expect, test } from "vitest";
import { PendingConnections } from "./pending-connections.ts";

const connectionOf = (tokenHash: string, sourceAddress: string, tenantId = "tenant", openedAt = 0) => ({
  agent: { tenantId, agentId: tokenHash, tokenHash },
  sourceAddress,
  openedAt,
});

function pending(pendingPerAddress = 64) {
  const connections = new PendingConnections<ReturnType<typeof connectionOf>>({
    pendingPerToken: 4,
    pendingPerAddress,
  });
  /** Adds connections. @returns them */
  const add = (count: number, tokenHash: string, sourceAddress: string, tenantId?: string, openedAt?: number) =>
    Array.from({ length: count }, () => {
      const connection = connectionOf(tokenHash, sourceAddress, tenantId, openedAt);
      connections.add(connection);
      return connection;
    });
  return { connections, add };
}

describe("too many connections", () => {
  test("of a token at an address end the oldest one, and leave the token room at other addresses", () => {
    const { connections, add } = pending();
    const [oldest] = add(4, "stolen", "192.0.2.1");
    expect(connections.tooMuchFor(connectionOf("stolen", "192.0.2.1"))).toBe(oldest);
    expect(connections.tooMuchFor(connectionOf("stolen", "198.51.100.1"))).toBeUndefined();
  });

  test("of a token at one /64 end the oldest one", () => {
    const { connections, add } = pending();
    const [oldest] = [add(2, "stolen", "2001:db8::1"), add(2, "stolen", "2001:db8::2")].flat();
    expect(connections.tooMuchFor(connectionOf("stolen", "2001:db8::3"))).toBe(oldest);
    expect(connections.tooMuchFor(connectionOf("stolen", "2001:db8:0:1::3"))).toBeUndefined();
  });

  test("of a token at many addresses end the oldest one, and never the last", () => {
    const { connections, add } = pending();
    const all = Array.from({ length: 16 }, (_, index) => add(1, "stolen", `192.0.2.${index}`)).flat();
    expect(connections.tooMuchFor(connectionOf("stolen", "198.51.100.1"))).toBe(all[0]);
    expect(connections.tooMuchFor(connectionOf("another", "198.51.100.1"))).toBeUndefined();
  });

  test("at an address end the oldest one of the token that has the most", () => {
    const { connections, add } = pending(8);
    add(1, "one", "192.0.2.1");
    const [oldest] = add(4, "two", "192.0.2.1");
    add(3, "three", "192.0.2.1");
    expect(connections.tooMuchFor(connectionOf("four", "192.0.2.1"))).toBe(oldest);
    expect(connections.tooMuchFor(connectionOf("four", "192.0.2.2"))).toBeUndefined();
  });

  test.each([
    ["an IPv4 address", () => "192.0.2.1"],
    ["a /64", (index: number) => `2001:db8::${index + 1}`],
  ])("at %s end the oldest one of the tenant that has the most, even if all are new", (_, address) => {
    const { connections, add } = pending();
    add(1, "agent", address(0), "quiet");
    const hostile = Array.from({ length: 63 }, (_, index) => add(1, `own ${index}`, address(index), "hostile")).flat();
    expect(connections.tooMuchFor(connectionOf("other agent", address(0), "quiet"))).toBe(hostile[0]);
  });

  test("at an address never end those of a tenant that has fewer", () => {
    const { connections, add } = pending(4);
    add(1, "agent", "192.0.2.1", "quiet");
    const [oldest] = ["one", "two", "three"].flatMap((token) => add(1, token, "192.0.2.1", "hostile"));
    expect(connections.tooMuchFor(connectionOf("four", "192.0.2.1", "hostile", 1_001))).toBe(oldest);
  });

  test("at an address leave each tenant its share", () => {
    const { connections, add } = pending(8);
    const [oldest] = Array.from({ length: 5 }, (_, index) => add(1, `one ${index}`, "192.0.2.1", "one")).flat();
    Array.from({ length: 3 }, (_, index) => add(1, `two ${index}`, "192.0.2.1", "two"));
    const next = connectionOf("two 3", "192.0.2.1", "two");
    expect(connections.tooMuchFor(next)).toBe(oldest);
    connections.delete(oldest as typeof next);
    connections.add(next);
    const refused = connectionOf("two 4", "192.0.2.1", "two");
    expect(connections.tooMuchFor(refused)).toBe(refused);
  });

  test.each([
    ["tokens", (index: number) => ({ token: `${index}`, tenant: "tenant" })],
    ["tenants", (index: number) => ({ token: `${index}`, tenant: `${index}` })],
  ])("at an address of many %s end the oldest one if it had the time of an admission", (_, nth) => {
    const { connections, add } = pending(3);
    const all = Array.from({ length: 3 }, (_, index) => {
      const { token, tenant } = nth(index);
      return add(1, token, "192.0.2.1", tenant, index);
    }).flat();
    const { token, tenant } = nth(3);
    const early = connectionOf(token, "192.0.2.1", tenant, 1_000);
    expect(connections.tooMuchFor(early)).toBe(early);
    expect(connections.tooMuchFor(connectionOf(token, "192.0.2.1", tenant, 1_001))).toBe(all[0]);
  });

  test("at an address refuse the new one if no token has more, and all are new", () => {
    const { connections, add } = pending(3);
    const all = ["one", "two", "three"].flatMap((token) => add(1, token, "192.0.2.1"));
    const refused = connectionOf("four", "192.0.2.1");
    expect(connections.tooMuchFor(refused)).toBe(refused);
    for (const connection of all) connections.delete(connection);
    expect(connections.tooMuchFor(refused)).toBeUndefined();
    expect(connections.size + connections.ofTenant("tenant")).toBe(0);
  });
});
