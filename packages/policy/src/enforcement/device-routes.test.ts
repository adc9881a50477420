import fc from "fast-check";
import { expect, test } from "vitest";
import { decide } from "../decisions/decide.ts";
import { compile } from "../model/model.ts";
import { randomLinks } from "../testing/random-links.ts";
import { moment } from "../testing/random-request.ts";
import { randomTenant } from "../testing/random-tenant.ts";
import { deviceConfiguration } from "./device-routes.ts";

test("a device goes to each address through the first gateway of the decision, and to nothing that it may not reach", () => {
  let routed = 0;
  fc.assert(
    fc.property(randomTenant, randomLinks, moment, (facts, links, now) => {
      const model = compile(facts);
      const known = {
        devices: new Map(links.devices.map((link) => [link.deviceId, link])),
        gateways: new Map(links.gateways.map((link) => [link.gatewayId, link])),
      };
      for (const { deviceId, sourceIp, country } of links.devices) {
        const found = deviceConfiguration(model, known, deviceId, now);
        const routes = (found?.gateways ?? []).flatMap(({ gateway, allowedIps, names }) =>
          [...allowedIps, ...names].map((to): [string, string] => [to, gateway]),
        );
        expect(new Set(routes.map(([to]) => to)).size).toBe(routes.length);
        const allowed = new Set<string>();
        for (const { id } of facts.resources) {
          const decision = decide(model, {
            subject: { kind: "device", deviceId },
            destination: { kind: "resource", resourceId: id },
            now,
            ...(sourceIp === null ? {} : { sourceIp }),
            ...(country === null ? {} : { country }),
          });
          const first = decision.gateways.find((gateway) => known.gateways.has(gateway));
          if (first !== undefined) allowed.add(first);
        }
        for (const [, gateway] of routes) expect(allowed).toContain(gateway);
        for (const gateway of allowed) expect(found?.gateways.map((peer) => peer.gateway)).toContain(gateway);
        routed += routes.length;
      }
    }),
    { numRuns: 300, unbiased: true },
  );
  expect(routed).toBeGreaterThan(200);
});
