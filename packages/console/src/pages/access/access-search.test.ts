import { expect, test } from "vitest";
import { circumstancesOf, destinationOf, readAccessSearch } from "./access-search.ts";

const destination = (search: Readonly<Record<string, string>>) => destinationOf(readAccessSearch(search));

test.each([
  [{ resource: "r" }, { type: "resource", id: "r" }],
  [
    { to: "address", address: "192.0.2.7", resource: "r" },
    { type: "address", id: "192.0.2.7" },
  ],
  [
    { to: "address", address: "wiki.example.com", protocol: "TCP", port: "443" },
    { type: "address", id: "wiki.example.com", properties: { protocol: "TCP", port: 443 } },
  ],
  // Only these two have ports.
  [
    { to: "address", address: "192.0.2.7", port: "443" },
    { type: "address", id: "192.0.2.7" },
  ],
  // Neither of them is one.
  [
    { to: "address", address: "192.0.2.7", protocol: "SCTP", port: "70000" },
    { type: "address", id: "192.0.2.7" },
  ],
  [
    { to: "address", address: "192.0.2.7", protocol: "ICMP", port: "443" },
    { type: "address", id: "192.0.2.7", properties: { protocol: "ICMP" } },
  ],
] as const)("the address bar's %j asks for %j", (search, expected) => {
  expect(destination(search)).toEqual(expected);
});

test("an incomplete country is omitted", () => {
  const circumstances = (search: Readonly<Record<string, string>>) => circumstancesOf(readAccessSearch(search));
  expect(circumstances({ country: "D" })).toEqual({});
  expect(circumstances({ country: "DE", at: "2031-01-01T10:00:00Z", ip: "198.51.100.7" })).toEqual({
    country: "DE",
    time: "2031-01-01T10:00:00Z",
    sourceIp: "198.51.100.7",
  });
});

test.each(["", "0", "-1", "x"])("the page %s means the first page", (page) => {
  expect(readAccessSearch({ page }).page).toBe(1);
});
