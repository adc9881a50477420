import { expect, test } from "vitest";
import { checkEndpoint } from "./gateways.rules.ts";

test.each([
  ["", ""],
  ["gateway.example.com", "gateway.example.com"],
  ["Gateway.Example.COM.", "gateway.example.com"],
  ["gateway", "gateway"],
  ["192.0.2.7", "192.0.2.7"],
  ["2001:DB8:0::1", "2001:db8::1"],
  ["::ffff:192.0.2.7", "192.0.2.7"],
])("the endpoint %j is stored as %j", (text, endpoint) => {
  expect(checkEndpoint(text)).toEqual({ ok: true, endpoint });
});

test.each([
  ["192.0.2.0/24", /block of addresses/],
  ["192.0.2.7/32", /block of addresses/],
  ["2001:db8::/32", /block of addresses/],
  ["*.example.com", /many names/],
  ["gateway.example.com:51820", /wireguardPort/],
  ["192.0.2.7:51820", /wireguardPort/],
  ["[2001:db8::1]:51820", /wireguardPort/],
  ["[2001:db8::1]", /brackets/],
  ["https://gateway.example.com", /URL/],
  ["gateway example", /white space/],
  [" ", /white space/],
  ["192.0.2.256", /192\.0\.2\.256/],
  ["010.0.0.1", /010\.0\.0\.1/],
  ["-gateway.example.com", /host name/],
])("the endpoint %j is refused with advice", (text, advice) => {
  expect(checkEndpoint(text)).toEqual({ ok: false, message: expect.stringMatching(advice) });
});
