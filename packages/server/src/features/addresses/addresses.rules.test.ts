import { describe, expect, test } from "vitest";
import { checkAddress, checkAnswersWithin, checkNewAddress, repeatedAddresses } from "./addresses.rules.ts";

describe("an address of a PRIVATE resource", () => {
  test.each([
    ["10.1.2.3", "10.1.2.3", true],
    ["10.0.0.0/8", "10.0.0.0/8", true],
    ["172.16.0.0/12", "172.16.0.0/12", true],
    ["192.168.10.7/32", "192.168.10.7/32", true],
    ["192.0.2.0/24", "192.0.2.0/24", true],
    ["FD00:0::1", "fd00::1", true],
    ["2001:DB8::/32", "2001:db8::/32", true],
    ["::ffff:10.0.0.1", "10.0.0.1", true],
    ["Git.Corp.Example.com.", "git.corp.example.com", false],
    ["*.Corp.Example.com", "*.corp.example.com", false],
    ["intranet", "intranet", false],
  ])("%s is stored as %s", (text, stored, isIp) => {
    expect(checkAddress(text, "PRIVATE")).toEqual({ ok: true, value: { text: stored, isIp } });
  });

  test.each([
    ["8.8.8.8", "8.8.8.8"],
    ["2606:4700::1111", "2606:4700::1111"],
    ["0.0.0.0/0", "1.0.0.0"],
    // The first address of the wider block beyond the private block.
    ["10.0.0.0/7", "11.0.0.0"],
    ["192.168.0.0/15", "192.169.0.0"],
    ["::/0", "::2"],
  ])("%s is refused, for %s is globally reachable", (text, conflict) => {
    const check = checkAddress(text, "PRIVATE");
    expect(check).toEqual({ ok: false, message: expect.stringContaining(conflict) });
  });

  test.each(["100.64.0.0/10", "100.64.0.1", "100.127.255.255", "100.100.0.0/16", "::ffff:100.64.0.1"])(
    "%s is refused, because it overlaps the address pool of devices",
    (text) => {
      expect(checkAddress(text, "PRIVATE")).toEqual({ ok: false, message: expect.stringContaining("100.64.0.0/10") });
    },
  );
});

test.each(["SAAS", "INTERNET"] as const)("a %s resource may name any address", (type) => {
  for (const text of ["8.8.8.8", "0.0.0.0/0", "100.64.0.1", "10.0.0.1", "*.example.com"]) {
    expect(checkAddress(text, type)).toMatchObject({ ok: true });
  }
});

test.each(["", "*", "10.0.0.256", "10.0.0.7/24", "http://git.example.com", "git.example.com:22", "a b", "a..b"])(
  "%j is not a valid address of any resource",
  (text) => {
    for (const type of ["PRIVATE", "SAAS", "INTERNET"] as const) expect(checkAddress(text, type).ok).toBe(false);
  },
);

describe("a new address in a blocked range", () => {
  test.each(["127.0.0.1", "169.254.169.254", "0.0.0.0", "::1", "fe80::1", "fd00:ec2::254", "127.0.0.0/8"])(
    "is refused in a PRIVATE resource, unless the resource has it already: %s",
    (text) => {
      expect(checkNewAddress(text, "PRIVATE")).toEqual({ ok: false, message: expect.stringContaining(text) });
      expect(checkNewAddress(text, "PRIVATE", "10.0.0.1").ok).toBe(false);
      expect(checkNewAddress(text, "PRIVATE", text)).toEqual({ ok: true, value: { text, isIp: true } });
      expect(checkNewAddress(text, "SAAS").ok).toBe(true);
    },
  );
});

describe("the blocks of answers for a name", () => {
  const name = { text: "*.dev.example.com", isIp: false };

  test.each([
    [null, null],
    [undefined, null],
    [["10.0.0.0/8"], ["10.0.0.0/8"]],
    [
      [" 10.1.2.3 ", "FD00::/8", "10.1.2.3/32"],
      ["10.1.2.3/32", "fd00::/8"],
    ],
    [
      ["::/0", "0.0.0.0/0"],
      ["0.0.0.0/0", "::/0"],
    ],
    [["203.0.113.0/24"], ["203.0.113.0/24"]],
  ])("%j is stored as %j", (texts, stored) => {
    expect(checkAnswersWithin(texts, name, "PRIVATE")).toEqual({ ok: true, value: stored });
  });

  test.each([
    ["at each entry that is not a block", name, "PRIVATE", ["10.0.0.1/8", "10.0.0.0/8", "office"], ["/0", "/2"]],
    ["for an IP address", { text: "10.0.0.1", isIp: true }, "PRIVATE", ["10.0.0.0/8"], [""]],
    ["for a name of a SAAS resource", name, "SAAS", ["10.0.0.0/8"], [""]],
    ["for a name of an INTERNET resource", name, "INTERNET", ["10.0.0.0/8"], [""]],
  ] as const)("are refused %s", (_, address, type, texts, pointers) => {
    const check = checkAnswersWithin(texts, address, type, "/addresses/3");
    const errors = pointers.map((end) => ({
      pointer: `/addresses/3/answersWithin${end}`,
      message: expect.any(String),
    }));
    expect(check).toEqual({ ok: false, errors });
    expect(checkAnswersWithin(null, address, type).ok).toBe(true);
  });
});

test.each([
  [
    { text: "crm.example.com", isIp: false },
    "SAAS" as const,
    "applies only to names of PRIVATE resources, and this resource has type SAAS. Remove the field.",
  ],
  [
    { text: "10.0.0.1", isIp: true },
    "PRIVATE" as const,
    "applies only to names, and 10.0.0.1 is an IP address or a CIDR. Remove the field.",
  ],
])("states why %j of type %s has no blocks of answers, and what to do", (address, type, message) => {
  const errors = [{ pointer: "/answersWithin", message }];
  expect(checkAnswersWithin(["10.0.0.0/8"], address, type)).toEqual({ ok: false, errors });
});

test("reports each repetition of an address in canonical form", () => {
  const canonical = ["git.example.com", "10.0.0.1", "git.example.com", "10.0.0.1/32", "git.example.com"];
  const repeated = repeatedAddresses(canonical.map((text) => ({ text, isIp: false })));
  expect(repeated.map(({ pointer }) => pointer)).toEqual(["/addresses/2/address", "/addresses/4/address"]);
});
