import { expect, test, vi } from "vitest";
import type { ResourceFacts } from "../model/facts.ts";
import { compile } from "../model/model.ts";
import { resolveDestination } from "./resolve-destination.ts";

const nothing = { users: [], groups: [], devices: [], gateways: [], rules: [], policies: [] };

test.each([
  ["offered by the last", "499", "r499"],
  ["offered by none", "500", "r100"],
])("a connection to an address of many resources, %s of them, reads few resources", (_, port, expected) => {
  const resources = Array.from({ length: 400 }, (_one, index): ResourceFacts => {
    const addresses = [{ address: "10.0.0.1", protocols: [{ protocol: "TCP" as const, port: String(index + 100) }] }];
    const named = { id: `r${index + 100}`, name: "", type: "PRIVATE" } as const;
    return { ...named, loadBalancingMode: "MANUAL", addresses, gateways: [] };
  });
  const model = compile({ ...nothing, resources });
  const read = vi.spyOn(model.resources, "get");
  const destination = { kind: "address", address: "10.0.0.1", protocol: "TCP", port: Number(port) } as const;
  expect(resolveDestination(model, destination).resource?.id).toBe(expected);
  expect(read.mock.calls.length).toBeLessThanOrEqual(2);
});
