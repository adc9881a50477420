import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { parseAddressText } from "./address-text.ts";

const longLabel = "a".repeat(63);
const longestName = `${`${longLabel}.`.repeat(3)}${"a".repeat(61)}`;

describe("accepts, in canonical form", () => {
  test.each([
    ["192.0.2.1", "ip", "192.0.2.1"],
    ["2001:DB8::0001", "ip", "2001:db8::1"],
    ["::ffff:192.0.2.1", "ip", "192.0.2.1"],
    ["192.0.2.0/24", "cidr", "192.0.2.0/24"],
    ["192.0.2.1/32", "cidr", "192.0.2.1/32"],
    ["2001:DB8:0::/48", "cidr", "2001:db8::/48"],
    ["example.com", "host", "example.com"],
    ["Intranet.EXAMPLE.com", "host", "intranet.example.com"],
    ["example.com.", "host", "example.com"],
    ["intranet", "host", "intranet"],
    ["file_server.example.com", "host", "file_server.example.com"],
    ["_ldap._tcp.example.com", "host", "_ldap._tcp.example.com"],
    ["3com.example", "host", "3com.example"],
    ["1.example", "host", "1.example"],
    ["192.0.2.1.example.com", "host", "192.0.2.1.example.com"],
    ["xn--bcher-kva.example", "host", "xn--bcher-kva.example"],
    ["a--b.example", "host", "a--b.example"],
    ["*.Example.com", "wildcard", "*.example.com"],
    ["*.corp", "wildcard", "*.corp"],
    ["*.example.com.", "wildcard", "*.example.com"],
    [longestName, "host", longestName],
    [`*.${longestName}.`, "wildcard", `*.${longestName}`],
  ])("%s as %s %s", (written, kind, text) => {
    const isIp = kind === "ip" || kind === "cidr";
    expect(parseAddressText(written)).toMatchObject({ ok: true, value: { text, kind, isIp } });
  });
});

describe("refuses with what to do", () => {
  test.each([
    ["", "is empty"],
    [" example.com", "has white space"],
    ["example.com\n", "has white space"],
    ["example .com", "has white space"],
    ["192.0.2.256", "from 0 to 255"],
    ["192.0.2", "write all four numbers"],
    ["192.0.2.1.1", "write all four numbers"],
    ["3221225985", "write all four numbers"],
    ["192.0.2.", "write all four numbers"],
    ["192.0.02.1", "without leading zeros"],
    ["0x7f000001", "its last label is a number"],
    ["0x7f.1", "its last label is a number"],
    ["example.123", "its last label is a number"],
    ["*.192.0.2.1", "its last label is a number"],
    ["192.0.2.7/24", "Write 192.0.2.0/24"],
    ["192.0.2.1-192.0.2.9", "is a range with a dash"],
    ["fe80::1%eth0", "zone identifier"],
    ["[2001:db8::1]", "has brackets"],
    ["2001:db8::g", "is not an IPv6 address"],
    ["example.com:443", "has a port"],
    ["192.0.2.1:443", "has a port"],
    ["https://example.com/", "is a URL"],
    ["example.com/path", "is not a CIDR block"],
    ["example..com", "has an empty label"],
    [".example.com", "has an empty label"],
    ["example.com..", "has an empty label"],
    [".", "write all four numbers"],
    ["*.", "has an empty label"],
    ["-a.example", "is not a host name"],
    ["a-.example", "is not a host name"],
    ["a!.example", "is not a host name"],
    ["user@example.com", "is not a host name"],
    ["bücher.example", "xn-- form"],
    ["example。com", "xn-- form"],
    ["*", "a * in the wrong place"],
    ["*example.com", "a * in the wrong place"],
    ["www.*.example.com", "a * in the wrong place"],
    ["*.*.example.com", "a * in the wrong place"],
    [`${"a".repeat(64)}.example`, "has a label longer than 63"],
    [`${longestName}a`, "is longer than 253"],
    ["a".repeat(100_000), "is longer than 253"],
  ])("%j", (written, advice) => {
    const reading = parseAddressText(written);
    expect(reading.ok ? `accepted as ${reading.value.text}` : reading.problem).toContain(advice);
  });
});

const anything = fc.oneof(
  fc.string({ unit: "binary", maxLength: 300 }),
  fc.string({ unit: fc.constantFrom(..."0123456789abcxX.:/-*_% []"), maxLength: 40 }),
  fc.domain(),
  fc.ipV4(),
  fc.ipV6(),
);

it("reads its own canonical text as itself, whatever was written", () => {
  fc.assert(
    fc.property(anything, (written) => {
      const reading = parseAddressText(written);
      if (reading.ok) expect(parseAddressText(reading.value.text)).toEqual(reading);
      else expect(reading.problem.length).toBeLessThan(400);
    }),
    { numRuns: 2000 },
  );
});

it("accepts every domain name", () => {
  fc.assert(
    fc.property(fc.domain(), (name) => {
      expect(parseAddressText(name)).toMatchObject({ ok: true, value: { kind: "host", text: name.toLowerCase() } });
    }),
  );
});

it("accepts every IP address", () => {
  fc.assert(
    fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), (ip) => {
      expect(parseAddressText(ip)).toMatchObject({ ok: true, value: { kind: "ip", isIp: true } });
    }),
  );
});
