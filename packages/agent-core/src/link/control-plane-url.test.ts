import { expect, test } from "vitest";
import { isUnencrypted, linkUrl } from "./control-plane-url.ts";

test.each([
  ["https://gatehouse.example.com", "wss://gatehouse.example.com/link"],
  ["https://gatehouse.example.com/", "wss://gatehouse.example.com/link"],
  ["https://example.com/gatehouse", "wss://example.com/gatehouse/link"],
  ["https://example.com/gatehouse//", "wss://example.com/gatehouse/link"],
  ["http://127.0.0.1:8080", "ws://127.0.0.1:8080/link"],
])("the link URL of %s is %s", (url, link) => {
  expect(linkUrl(url, "/link").href).toBe(link);
});

test("an invalid URL is refused", () => {
  expect(() => linkUrl("nowhere", "/link")).toThrow("Invalid URL");
});

test.each([
  ["https://gatehouse.example.com", false],
  ["http://gatehouse.example.com", true],
  ["http://192.0.2.1:8080", true],
  ["http://localhost:8080", false],
  ["http://gatehouse.localhost", false],
  ["http://127.0.0.53", false],
  ["http://127.0.0.1.example.com", true],
  ["http://[::1]:8080", false],
  ["http://[2001:db8::1]", true],
  ["nowhere", false],
])("%s is unencrypted: %s", (url, expected) => {
  expect(isUnencrypted(url)).toBe(expected);
});
