import { createHash } from "node:crypto";
import { parseAddressText } from "@gatehouse/addresses/address-text";
import { contentOf, contentRoot } from "@gatehouse/agent-protocol/gateway/content-tree";
import { canonicalKey } from "@gatehouse/contract/wireguard-keys";
import fc from "fast-check";
import { expect, test } from "vitest";
import { budgeted, expectedTally } from "../../../../test/budget.ts";
import { decide } from "../decisions/decide.ts";
import type { AccessRequest, Destination } from "../decisions/request.ts";
import type { TenantFacts } from "../model/facts.ts";
import { compile, type Model, update } from "../model/model.ts";
import { changedFacts } from "../testing/changed-facts.ts";
import { isAllowed, isCarried, isPeer } from "../testing/enforced-access.ts";
import { changesIn, randomHappenings } from "../testing/random-changes.ts";
import { randomLinks } from "../testing/random-links.ts";
import { moment, randomRequest } from "../testing/random-request.ts";
import { ids, randomTenantWithSessions } from "../testing/random-tenant.ts";
import { finish } from "../work.ts";
import { sourceAt } from "./device-sources.ts";
import type { LinkFacts } from "./links.ts";
import { TenantEnforcement } from "./tenant-enforcement.ts";

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
const hourMs = 3_600_000;
// Seconds of work, or more on a busy machine.
const timeoutMs = 180_000;

/** The model with this gateway in service. Otherwise the gateway's own configuration has no effect. */
function modelWithOnline(model: Model, gatewayId: string): Model {
  const gateway = model.gateways.get(gatewayId);
  if (gateway === undefined) return model;
  return update(model, [{ kind: "gateway", facts: { ...gateway, status: "ONLINE" } }]);
}

/** Whether the engine allows a request through this gateway. */
function decides(model: Model, gatewayId: string, request: AccessRequest): boolean {
  const decision = decide(modelWithOnline(model, gatewayId), request);
  return decision.allowed && decision.gateways.includes(gatewayId);
}

const tally = { carried: 0, dropped: 0, sites: 0, later: 0, observed: 0 };

/** The requests of all devices and of some sites, as one gateway observes them. */
function requestsOf(facts: TenantFacts, links: LinkFacts, gatewayId: string, destination: Destination, now: number) {
  const devices = links.devices.map(({ deviceId, ipv4, sources, country }) => {
    const sourceIp = sourceAt(sources, gatewayId);
    if (sourceIp !== sourceAt(sources)) tally.observed += 1;
    return {
      from: { peer: ipv4 },
      request: {
        subject: { kind: "device" as const, deviceId },
        destination,
        now,
        ...(sourceIp === null ? {} : { sourceIp }),
        ...(country === null ? {} : { country }),
      },
    };
  });
  const sites = facts.gateways.flatMap(({ id }) =>
    ["192.0.2.7", "198.51.100.127", "2001:db8::7"].map((siteAddress) => ({
      from: { siteAddress },
      request: {
        subject: { kind: "site" as const, gatewayId: id },
        destination,
        now,
        sourceIp: siteAddress,
      },
    })),
  );
  return [...devices, ...sites.slice(0, 3)];
}

test(
  "a gateway carries exactly the traffic that decisions allow, throughout the validity period",
  () => {
    fc.assert(
      fc.property(
        randomTenantWithSessions,
        randomLinks,
        moment,
        fc.array(randomRequest, { minLength: 6, maxLength: 6 }),
        fc.array(fc.integer({ min: 0, max: 6 * hourMs - 1 }), { minLength: 2, maxLength: 2 }),
        (facts, links, from, requests, offsets) => {
          const model = compile(facts);
          const enforcement = finish(TenantEnforcement.composing(model, links, { from, until: from + 6 * hourMs }));
          const exactUntil = enforcement.exactUntil;
          for (const { gatewayId } of links.gateways) {
            const tree = enforcement.contentOf(gatewayId);
            expect(tree === undefined).toBe(model.gateways.get(gatewayId) === undefined);
            if (tree === undefined) continue;
            const content = contentOf(tree);
            for (const { destination } of requests) {
              for (const offset of [0, ...offsets]) {
                for (const { from: source, request } of requestsOf(
                  facts,
                  links,
                  gatewayId,
                  destination,
                  from + offset,
                )) {
                  const expected = decides(model, gatewayId, request);
                  const packet = { from: source, now: request.now };
                  let actual: boolean;
                  if (destination.kind === "resource") {
                    const rules = content.resources[destination.resourceId];
                    const isKnown = "siteAddress" in source || isPeer(content, source.peer, request.now);
                    actual = rules !== undefined && isKnown && isAllowed(content, rules, packet);
                  } else {
                    // A decision about any protocol or port does not correspond to a packet.
                    if (destination.protocol === undefined) continue;
                    if (destination.protocol !== "ICMP" && destination.port === undefined) continue;
                    if (!isOneHost(destination.address)) continue;
                    const { address, protocol, port } = destination;
                    actual = isCarried(content, {
                      ...packet,
                      to: address,
                      protocol,
                      ...(port === undefined ? {} : { port }),
                    });
                  }
                  // After the budget of a frequently changing rule is spent, less may be carried, but never more.
                  const isWeaker = request.now >= exactUntil || "siteAddress" in source;
                  if (expected !== actual && !(isWeaker && expected)) {
                    throw new Error(
                      `${gatewayId} should ${expected ? "carry" : "drop"} ${JSON.stringify(request)} of ${JSON.stringify(source)}`,
                    );
                  }
                  if (actual) tally.carried += 1;
                  else tally.dropped += 1;
                  if (actual && "siteAddress" in source) tally.sites += 1;
                  if (actual && offset > 0) tally.later += 1;
                }
              }
            }
          }
        },
      ),
      { numRuns: budgeted(400, 40), unbiased: true },
    );
    expect(tally.carried).toBeGreaterThanOrEqual(expectedTally(2_000));
    expect(tally.sites).toBeGreaterThanOrEqual(expectedTally(50));
    expect(tally.observed).toBeGreaterThanOrEqual(expectedTally(5_000));
    expect(tally.later).toBeGreaterThanOrEqual(expectedTally(500));
  },
  timeoutMs,
);

test(
  "incremental updates equal a new computation and report only changed gateways",
  () => {
    fc.assert(
      fc.property(
        randomTenantWithSessions,
        randomLinks,
        moment,
        randomHappenings,
        fc.array(fc.record({ next: randomLinks, only: fc.constantFrom(undefined, ...ids.gateways) })),
        (start, links, from, batches, relinked) => {
          const validity = { from, until: from + 2 * hourMs };
          let facts = start;
          let current = links;
          let model = compile(facts);
          const enforcement = finish(TenantEnforcement.composing(model, current, validity));
          for (const [index, batch] of batches.entries()) {
            const before = new Map(enforcement.contents());
            const changes = changesIn(facts, batch);
            const next = relinked[index] === undefined ? current : nextLinks(current, relinked[index]);
            const linkChanges = changesOfLinks(current, next);
            current = next;
            facts = changedFacts(facts, changes);
            model = update(model, changes);
            const told = finish(enforcement.updating(model, [...changes, ...linkChanges], from));
            const composed = finish(TenantEnforcement.composing(compile(facts), current, validity));
            expect(new Set(Array.from(enforcement.contents(), ([id]) => id))).toEqual(
              new Set(Array.from(composed.contents(), ([id]) => id)),
            );
            for (const [id, content] of enforcement.contents()) {
              // Agents refuse a configuration that contains a key twice. Two encodings of one point are one key.
              const keys = Object.values(contentOf(content).peers).map(({ publicKey }) => canonicalKey(publicKey));
              expect(new Set(keys).size).toBe(keys.length);
              const expected = composed.contentOf(id);
              if (expected === undefined) throw new Error("No content.");
              if (contentRoot(content, sha256) !== contentRoot(expected, sha256)) {
                expect(contentOf(content)).toEqual(contentOf(expected));
              }
              const was = before.get(id);
              const isSame = was !== undefined && contentRoot(was, sha256) === contentRoot(content, sha256);
              if (!isSame) expect(told).toContain(id);
            }
          }
        },
      ),
      { numRuns: budgeted(300, 30), unbiased: true },
    );
  },
  timeoutMs,
);

/** Packets have a single destination host. */
function isOneHost(address: string): boolean {
  const reading = parseAddressText(address);
  return reading.ok && (reading.value.kind === "ip" || reading.value.kind === "host");
}

interface Relinking {
  readonly next: LinkFacts;
  /** The only gateway whose link changes. Undefined: all links change. */
  readonly only: string | undefined;
}

/** Links of other gateways retain their identity, so that only what depends on the changed one may change. */
function nextLinks(before: LinkFacts, { next, only }: Relinking): LinkFacts {
  if (only === undefined) return next;
  const others = before.gateways.filter(({ gatewayId }) => gatewayId !== only);
  return { ...before, gateways: [...others, ...next.gateways.filter(({ gatewayId }) => gatewayId === only)] };
}

function changesOfLinks(before: LinkFacts, after: LinkFacts) {
  const onlyIn = <Link>(one: readonly Link[], other: readonly Link[]) => one.filter((link) => !other.includes(link));
  return [
    ...onlyIn(before.devices, after.devices).map(({ deviceId }) => ({ kind: "device-link" as const, gone: deviceId })),
    ...onlyIn(after.devices, before.devices).map((link) => ({ kind: "device-link" as const, link })),
    ...onlyIn(before.gateways, after.gateways).map(({ gatewayId }) => ({
      kind: "gateway-link" as const,
      gone: gatewayId,
    })),
    ...onlyIn(after.gateways, before.gateways).map((link) => ({ kind: "gateway-link" as const, link })),
  ];
}
