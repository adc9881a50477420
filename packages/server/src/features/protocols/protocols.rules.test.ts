import { describe, expect, test } from "vitest";
import {
  canonicalNetworkProtocols,
  nameFromContent,
  numberedName,
  type RequestedNetworkProtocol,
  stemOf,
} from "./protocols.rules.ts";

describe("network protocols", () => {
  const forms: readonly [RequestedNetworkProtocol, object][] = [
    [
      { protocol: "TCP", port: 443 },
      { protocol: "TCP", port: "443" },
    ],
    [
      { protocol: "TCP", port: "443" },
      { protocol: "TCP", port: "443" },
    ],
    [
      { protocol: "UDP", port: "5000-5100" },
      { protocol: "UDP", port: "5000-5100" },
    ],
    [
      { protocol: "TCP", port: "1-65535" },
      { protocol: "TCP", port: "1-65535" },
    ],
    [
      { protocol: "TCP", port: "22-22" },
      { protocol: "TCP", port: "22" },
    ],
    [{ protocol: "TCP" }, { protocol: "TCP" }],
    [{ protocol: "ICMP" }, { protocol: "ICMP" }],
  ];
  test.each(forms)("%j is stored as %j", (requested, stored) => {
    expect(canonicalNetworkProtocols([requested])).toEqual({ ok: true, value: [stored] });
  });

  const wrong: readonly [RequestedNetworkProtocol, RegExp][] = [
    [{ protocol: "TCP", port: "5100-5000" }, /ends before it starts/],
    [{ protocol: "ICMP", port: "8" }, /no ports/],
    [{ protocol: "ICMP", port: 8 }, /no ports/],
  ];
  test.each(wrong)("%j is refused", (requested, message) => {
    expect(canonicalNetworkProtocols([{ protocol: "TCP" }, requested])).toEqual({
      ok: false,
      errors: [{ pointer: "/networkProtocols/1/port", message: expect.stringMatching(message) }],
    });
  });

  test("lists entries that are equal in canonical form once, in the order given", () => {
    const requested: RequestedNetworkProtocol[] = [
      { protocol: "UDP", port: 53 },
      { protocol: "TCP", port: "53" },
      { protocol: "UDP", port: "53-53" },
      { protocol: "TCP" },
    ];
    expect(canonicalNetworkProtocols(requested)).toEqual({
      ok: true,
      value: [{ protocol: "UDP", port: "53" }, { protocol: "TCP", port: "53" }, { protocol: "TCP" }],
    });
  });
});

describe("a name made from the content", () => {
  test.each([
    [[{ protocol: "TCP", port: "8443" }], "TCP/8443"],
    [
      [
        { protocol: "TCP", port: "80" },
        { protocol: "TCP", port: "443" },
      ],
      "TCP/80, TCP/443",
    ],
    [[{ protocol: "ICMP" }], "ICMP"],
    [[{ protocol: "UDP", port: "5000-5100" }, { protocol: "TCP" }], "UDP/5000-5100, TCP"],
  ] as const)("of %j is %s", (content, name) => {
    expect(nameFromContent(content)).toBe(name);
  });

  const long = Array.from({ length: 100 }, (_, index) => ({ protocol: "TCP", port: String(10_000 + index) }) as const);

  test("is shortened to the maximum length of a name", () => {
    const name = nameFromContent(long);
    expect(name).toHaveLength(120);
    expect(name).toMatch(/^TCP\/10000, .*…$/);
  });

  test("gets the first free number from 2 if it is taken", () => {
    expect(numberedName("TCP/1", new Set())).toBe("TCP/1");
    expect(numberedName("TCP/1", new Set(["TCP/1"]))).toBe("TCP/1 (2)");
    expect(numberedName("TCP/1", new Set(["TCP/1", "TCP/1 (2)", "TCP/1 (4)"]))).toBe("TCP/1 (3)");
  });

  test("is never too long when numbered, and always starts with the stem", () => {
    const name = nameFromContent(long);
    const taken = new Set<string>();
    for (let count = 0; count < 1200; count += 1) {
      const free = numberedName(name, taken);
      expect(free.length).toBeLessThanOrEqual(120);
      expect(free.startsWith(stemOf(name))).toBe(true);
      expect(taken.has(free)).toBe(false);
      taken.add(free);
    }
  });
});
