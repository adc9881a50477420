import { expect, test } from "vitest";
import { exampleDeviceConfiguration, exampleOutage } from "../testing/example-device-configuration.ts";
import { contentProblem } from "./validate-device-configuration.ts";

const good = exampleDeviceConfiguration();
const [first, second] = good.gateways;
const withFirst = (changes: object) => ({ ...good, gateways: [{ ...first, ...changes }, second] });

test("a valid configuration has no problem", () => {
  expect(contentProblem(good)).toBeUndefined();
  expect(contentProblem({ ...good, gateways: [] })).toBeUndefined();
  expect(contentProblem(exampleOutage())).toBeUndefined();
  expect(contentProblem({ ...good, internet: first?.gateway, validUntil: 5 })).toBeUndefined();
});

test.each([
  [null, "must be object"],
  [{ ...good, more: true }, "must NOT have additional properties"],
  [{ ...good, ipv4: "100.64.0.999" }, "is not an IPv4 address"],
  [{ ...good, ipv6: "100.64.0.1" }, "is not an IPv6 address"],
  [withFirst({ publicKey: "key; reboot" }), "must match pattern"],
  [withFirst({ addresses: ["100.64.255.1"] }), "must NOT have fewer"],
  [withFirst({ addresses: ["100.64.255.1", "::::"] }), "is not an IP address"],
  [withFirst({ addresses: ["100.64.255.2", "fd64::ff:1"] }), "occurs twice"],
  [withFirst({ allowedIps: ["10.0.0.1/8"] }), "is not an address block"],
  [withFirst({ allowedIps: ["10.81.0.7/32"] }), "occurs twice"],
  [withFirst({ publicKey: second?.publicKey }), "occurs twice"],
  [withFirst({ endpoint: "192.0.2.1:99999" }), "is not host:port"],
  [withFirst({ relays: ["[::1:5]:4"] }), undefined],
  [withFirst({ names: ["a b"] }), "is not a host name"],
  [withFirst({ names: ["-oops"] }), "is not a host name"],
  [withFirst({ names: ["*"] }), "is not a host name"],
  [
    { ...good, unserved: { addresses: ["10.80.0.0/99"], names: [] } },
    '/unserved: "10.80.0.0/99" is not an address block',
  ],
  [{ ...good, unserved: { addresses: ["10.80.0.0/24"], names: [] } }, "occurs twice"],
  [{ ...good, unserved: { addresses: [], names: ["a b"] } }, "is not a host name"],
  [{ ...good, internet: good.device }, "is not one of the gateways"],
])("%#: is refused with its problem", (content, problem) => {
  if (problem === undefined) expect(contentProblem(content)).toBeUndefined();
  else expect(contentProblem(content)).toContain(problem);
});
