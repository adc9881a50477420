import { describe, expect, test } from "vitest";
import { canonicalSourceIps } from "./source-ips.ts";

describe("canonicalSourceIps", () => {
  test.each([
    [["192.0.2.1"], ["192.0.2.1"]],
    [["192.0.2.1/32"], ["192.0.2.1/32"]],
    [["192.0.2.1", "192.0.2.1/32", " 192.0.2.1 "], ["192.0.2.1"]],
    [
      ["2001:DB8:0::/32", "192.0.2.0/24", "2001:db8::/32"],
      ["2001:db8::/32", "192.0.2.0/24"],
    ],
    [
      ["::ffff:192.0.2.1", "::ffff:192.0.2.0/120"],
      ["192.0.2.1", "192.0.2.0/24"],
    ],
    [
      ["0.0.0.0/0", "::/0"],
      ["0.0.0.0/0", "::/0"],
    ],
    [[], []],
  ])("%j becomes %j", (given, canonical) => {
    expect(canonicalSourceIps(given)).toEqual({ ok: true, value: canonical });
  });

  test("points at each text that is neither an address nor a block", () => {
    const reading = canonicalSourceIps(["192.0.2.1", "", "192.0.2.0/33", "*.example.com", "192.0.2.7/24"]);
    const pointers = reading.ok ? [] : reading.errors.map(({ pointer }) => pointer);
    expect(pointers).toEqual(["/sourceIps/1", "/sourceIps/2", "/sourceIps/3", "/sourceIps/4"]);
  });
});
