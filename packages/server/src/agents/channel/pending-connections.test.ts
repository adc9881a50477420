import { describe, expect, test } from "vitest";
import { PendingConnections } from "./pending-connections.ts";

const connectionOf = (tokenHash: string, sourceAddress: string) => ({
  agent: { tenantId: "tenant", agentId: tokenHash, tokenHash },
  sourceAddress,
});

function pending(pendingPerAddress = 64) {
  const connections = new PendingConnections<ReturnType<typeof connectionOf>>({
    pendingPerToken: 4,
    pendingPerAddress,
  });
  /** Adds connections. @returns them */
  const add = (count: number, tokenHash: string, sourceAddress: string) =>
    Array.from({ length: count }, () => {
      const connection = connectionOf(tokenHash, sourceAddress);
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

  test("at an address refuse the new one if no token has more", () => {
    const { connections, add } = pending(3);
    const all = ["one", "two", "three"].flatMap((token) => add(1, token, "192.0.2.1"));
    const refused = connectionOf("four", "192.0.2.1");
    expect(connections.tooMuchFor(refused)).toBe(refused);
    for (const connection of all) connections.delete(connection);
    expect(connections.tooMuchFor(refused)).toBeUndefined();
    expect(connections.size + connections.ofTenant("tenant")).toBe(0);
  });
});
