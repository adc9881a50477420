import { describe, expect, test } from "vitest";
import { startTestServer } from "../testing/test-server.ts";
import { clientAddress, trustedProxyCheck } from "./client-address.ts";

test.each([
  ["192.0.2.9", "192.0.2.9"],
  ["::ffff:192.0.2.9", "192.0.2.9"],
  ["192.0.2.9:4711", "192.0.2.9"],
  ["[::ffff:192.0.2.9]:4711", "192.0.2.9"],
  ["2001:DB8:0:0::5", "2001:db8::5"],
  ["[2001:db8::5]:4711", "2001:db8::5"],
  ["[2001:db8::5]", "2001:db8::5"],
  ["fe80::1%eth0", "fe80::1"],
  ["[fe80::1%eth0]:1", "fe80::1"],
  // Without brackets, the last group cannot be told from a port.
  ["2001:db8::5:4711", "2001:db8::5:4711"],
  ["192.0.2.9:", "unknown"],
  ["192.0.2.9:123456", "unknown"],
  ["192.0.2.9:4711:1", "unknown"],
  ["0300.0.2.9", "unknown"],
  ["192.0.2:80", "unknown"],
  ["[192.0.2.9", "unknown"],
  ["[]:80", "unknown"],
  ["<script>", "unknown"],
  ["", "unknown"],
  [undefined, "unknown"],
])("%s is %s", (ip, expected) => {
  expect(clientAddress({ ip: ip as string })).toBe(expected);
});

test("a long text is unknown", () => {
  for (const ip of ["9".repeat(8_000), `fe80::1%${"x".repeat(8_000)}`]) expect(clientAddress({ ip })).toBe("unknown");
});

test("a proxy is trusted in every spelling of its address", () => {
  const isTrusted = trustedProxyCheck(["192.0.2.1", "2001:db8::/32"]);
  const trusted = ["192.0.2.1", "::ffff:192.0.2.1", "192.0.2.1:443", "2001:db8::1", "[2001:db8::1]:443"];
  expect(trusted.filter((text) => !isTrusted(text))).toEqual([]);
  expect(["192.0.2.2", "2001:db9::1", "unknown", "", undefined].filter((text) => isTrusted(text))).toEqual([]);
});

describe("behind a proxy that adds ports", () => {
  const settings = {
    trustedProxies: ["127.0.0.1", "192.0.2.0/28"],
    rateLimits: { perMinute: 0, authFailures: 3, shared: false },
  };

  test("the audit record has the canonical address of the client, and no other text", async () => {
    const server = await startTestServer({ settings });
    try {
      const tenant = await server.newTenant();
      const recorded = async (forwarded: string) => {
        await tenant.client.must.post(
          "/tenants/groups",
          { name: `G${forwarded.slice(0, 50)}` },
          { "x-forwarded-for": forwarded },
        );
        const { body } = await tenant.client.get("/tenants/events?limit=1&sort=-id");
        return body.data[0].sourceAddress;
      };
      expect(await recorded("198.51.100.9:4711")).toBe("198.51.100.9");
      expect(await recorded("198.51.100.9, 192.0.2.1:443")).toBe("198.51.100.9");
      expect(await recorded("[2001:DB8::9]:4711")).toBe("2001:db8::9");
      expect(await recorded("::ffff:198.51.100.9")).toBe("198.51.100.9");
      expect(await recorded("<script>")).toBe("unknown");
      expect(await recorded("9".repeat(8_000))).toBe("unknown");
    } finally {
      await server.close();
    }
  });

  test("failed authentications of one client do not block others, and addresses of keys apply", async () => {
    const server = await startTestServer({ settings });
    try {
      const tenant = await server.newTenant();
      const key = { name: "Bound", permissions: ["groups:read"], sourceIps: ["198.51.100.10"] };
      const { body } = await tenant.client.must.post("/tenants/api-keys", key);
      const status = async (secret: string, forwarded: string) =>
        (await server.client(secret).get("/tenants/groups", { "x-forwarded-for": forwarded })).status;
      const wrong = "gatehouse_key_wrong";
      for (const port of [1, 2, 3]) expect(await status(wrong, `198.51.100.9:${port}`)).toBe(401);
      expect(await status(wrong, "198.51.100.9:4")).toBe(429);
      expect(await status(body.key, "198.51.100.10:5")).toBe(200);
      expect(await status(body.key, "198.51.100.11:5")).toBe(403);
    } finally {
      await server.close();
    }
  });
});
