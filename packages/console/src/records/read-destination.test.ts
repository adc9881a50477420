import fc from "fast-check";
import { expect, test } from "vitest";
import { nameFor, readDestination } from "./read-destination.ts";

test.each([
  ["https://wiki.internal", "wiki.internal", 443],
  ["http://wiki.internal/start?page=1", "wiki.internal", 80],
  ["https://wiki.internal:8443/", "wiki.internal", 8443],
  ["wiki.internal:443", "wiki.internal", 443],
  [" Wiki.Internal ", "wiki.internal", undefined],
  ["*.example.com", "*.example.com", undefined],
  ["ssh://root@build.example.com", "build.example.com", 22],
  ["10.0.0.0/16", "10.0.0.0/16", undefined],
  ["10.1.2.3:5432", "10.1.2.3", 5432],
  ["2001:db8::/32", "2001:db8::/32", undefined],
  ["2001:db8::1", "2001:db8::1", undefined],
  ["https://[2001:db8::1]:8443", "2001:db8::1", 8443],
])("reads %s", (text, address, port) => {
  expect(readDestination(text)).toEqual({ address, port });
});

test.each(["", "   ", "wiki.internal:0", "wiki.internal:70000", "wiki.internal:https", "two words", "https://"])(
  "refuses “%s”",
  (text) => {
    expect(readDestination(text)).toBeUndefined();
  },
);

test("reads every host with every port", () => {
  fc.assert(
    fc.property(fc.domain(), fc.integer({ min: 1, max: 65_535 }), (host, port) => {
      const expected = { address: host.toLowerCase(), port };
      expect(readDestination(`${host}:${port}`)).toEqual(expected);
      expect(readDestination(`https://${host}:${port}/a/b`)).toEqual(expected);
    }),
  );
});

test.each([
  ["wiki.internal", "Wiki"],
  ["*.example.com", "Example"],
  ["10.0.0.0/16", "10.0.0.0/16"],
])("names the resource at %s", (address, name) => {
  expect(nameFor({ address, port: undefined })).toBe(name);
});
