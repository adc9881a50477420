import { compile } from "@gatehouse/policy/model/model";
import { expect, test } from "vitest";
import { areRoutesConcerned } from "./route-concern.ts";

const [used, other, deleted] = ["used", "other", "deleted"];
const known = [used, other].map((id) => ({ id, name: id, status: "OFFLINE", load: null, roundTripTimeMs: null }));
const facts = { users: [], groups: [], devices: [], gateways: known, resources: [], rules: [], policies: [] };
const model = compile(facts as unknown as Parameters<typeof compile>[0]); // all facts that the function reads
const through = { gateway: used, publicKey: "", addresses: [], relays: [], allowedIps: [], names: [] };
const unserved = { addresses: ["10.20.30.0/24"], names: [] };

test.each([
  ["a gateway of its routes", [other, used], {}, true],
  ["another gateway", [other], {}, false],
  ["another gateway, while it blocks addresses", [other], { unserved }, false],
  ["a deleted gateway", [deleted], {}, false],
  ["a deleted gateway, while it blocks addresses", [other, deleted], { unserved }, true],
])("whether a change of %s concerns a device", (_, changed, more, expected) => {
  expect(areRoutesConcerned({ gateways: [through], ...more }, new Set(changed), model)).toBe(expected);
});
