import { expect, test } from "vitest";
import type { DeviceFacts, UserFacts } from "../model/facts.ts";
import { compile } from "../model/model.ts";
import { finish } from "../work.ts";
import { noSources } from "./device-sources.ts";
import { EligibleDevices } from "./eligible-devices.ts";

const id = (number: number) => `0199aaaa-0000-7000-8000-0000000000${String(number).padStart(2, "0")}`;
const user: UserFacts = {
  id: id(1),
  email: "ann@example.com",
  firstName: "",
  lastName: "",
  status: "active",
  attributes: {},
  groups: [],
};

function deviceOf(number: number): DeviceFacts {
  const described = { name: "Laptop", os: "", osVersion: "", appVersion: "", hardwareId: "", tags: [], posture: {} };
  return { id: id(number), userId: user.id, active: true, agent: true, ...described };
}

test("of the devices whose keys have one point, only the one with the canonical key is a peer", () => {
  const keys = [`${"B".repeat(41)}JA=`, `${"B".repeat(42)}A=`, "7v///////////////////////////////////////38="];
  const numbers = keys.map((_, index) => index + 1);
  const facts = { users: [user], groups: [], devices: numbers.map(deviceOf), gateways: [], resources: [] };
  const model = compile({ ...facts, rules: [], policies: [] });
  const devices = new EligibleDevices();
  for (const [index, publicKey] of keys.entries()) {
    const addresses = { ipv4: `100.64.0.${index + 1}`, ipv6: `fd00::${index + 1}` };
    devices.setLink(id(index + 1), {
      deviceId: id(index + 1),
      ...addresses,
      publicKey,
      sources: noSources,
      country: null,
    });
  }
  finish(devices.refreshing(numbers.map(id), model, 0));
  expect(Array.from(devices.values(), ({ link }) => link.publicKey)).toEqual([keys[1]]);
});
