import { formatIpAddress } from "@gatehouse/addresses/ip-address";
import { expect, test } from "vitest";
import { unspecifiedSource } from "../enforcement/device-sources.ts";
import { plainPolicy } from "../testing/plain-policy.ts";
import { CompiledPolicy } from "./compiled-policy.ts";
import { knownSource } from "./source-address.ts";

test.each([
  ["198.51.100.7", "198.51.100.7"],
  ["::ffff:198.51.100.7", "198.51.100.7"],
  [unspecifiedSource[4], undefined],
  [unspecifiedSource[6], undefined],
  ["::ffff:0.0.0.0", undefined],
  ["office", undefined],
  [null, undefined],
  [undefined, undefined],
])("the known source of %s is %s", (text, known) => {
  const address = knownSource(text);
  expect(address === undefined ? undefined : formatIpAddress(address)).toBe(known);
});

test.each([
  ["denies a network", { action: false, sourceIps: ["198.51.100.0/24"] }, true],
  ["allows all addresses but one network", { action: true, sourceIps: ["0.0.0.0/1", "128.0.0.0/2", "::/0"] }, false],
])("a device behind a relay and a policy that %s", (_name, facts, applies) => {
  const policy = new CompiledPolicy(plainPolicy({ id: "1", rule: "", ...facts }), 0);
  for (const hidden of Object.values(unspecifiedSource)) {
    expect(policy.appliesToSourceIp(knownSource(hidden))).toBe(applies);
  }
});
