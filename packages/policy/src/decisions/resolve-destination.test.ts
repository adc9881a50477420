import fc from "fast-check";
import { expect, test, vi } from "vitest";
import type { ResourceFacts } from "../model/facts.ts";
import { compile } from "../model/model.ts";
import { portsOf } from "../model/protocol-lists.ts";
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

/** Resources at one address, which share few lists of ports. */
const crowd = fc
  .array(
    fc.array(
      fc.record({ protocol: fc.constantFrom("TCP" as const, "UDP" as const), port: fc.constantFrom("1-3", "2", "9") }),
    ),
    {
      maxLength: 4,
    },
  )
  .chain((lists) => fc.array(fc.oneof(fc.constant([]), fc.subarray(lists)), { minLength: 60, maxLength: 70 }));

test("a connection goes to the first of many resources that offers its port", () => {
  fc.assert(
    fc.property(
      crowd,
      fc.constantFrom("TCP" as const, "UDP" as const),
      fc.option(fc.integer({ min: 1, max: 9 })),
      (all, protocol, port) => {
        const resources = all.map((protocols, index): ResourceFacts => {
          const named = { id: `r${index + 100}`, name: "", type: "PRIVATE" } as const;
          return {
            ...named,
            loadBalancingMode: "MANUAL",
            addresses: [{ address: "10.0.0.1", protocols }],
            gateways: [],
          };
        });
        const isOffered = (of: { readonly protocol: string; readonly port?: string }) => {
          const [first = "", last = first] = of.port?.split("-") ?? [];
          return of.protocol === protocol && (port === null || (Number(first) <= port && port <= Number(last)));
        };
        const offering = resources.find(({ addresses }) => portsOf(addresses[0]?.protocols ?? []).some(isOffered));
        const asked = { kind: "address", address: "10.0.0.1", protocol, ...(port === null ? {} : { port }) } as const;
        const resolved = resolveDestination(compile({ ...nothing, resources }), asked);
        expect(resolved.resource?.id).toBe(offering?.id ?? "r100");
        expect(resolved.denied).toBe(offering === undefined ? "protocol_not_offered" : undefined);
      },
    ),
    { numRuns: 100 },
  );
});
