import fc from "fast-check";
import { expect, test } from "vitest";
import { randomContent } from "../testing/random-content.ts";
import { contentOf, contentTreeOf } from "./content-tree.ts";
import { contentForVersion } from "./earlier-versions.ts";

const closed = { services: [], otherwise: "drop" };

test.each([1, 2] as const)("agents of version %i get no field that they do not know", (version) => {
  const counts = { closed: 0, opened: 0, limited: 0, networks: 0 };
  fc.assert(
    fc.property(randomContent, (content) => {
      const tree = contentTreeOf(content);
      const adapted = contentForVersion(tree, version);
      expect(contentForVersion(tree, version)).toBe(adapted);
      const after = contentOf(adapted);
      const { networks, ...dns } = content.settings.dns;
      if (networks !== undefined) counts.networks += 1;
      const settings = { ...content.settings, dns };
      expect({ ...after, destinations: {}, peers: {} }).toEqual({
        ...contentOf(tree),
        settings,
        destinations: {},
        peers: {},
      });
      const known = Object.entries(content.peers).filter(([, peer]) => version === 2 || !("until" in peer));
      expect(after.peers).toEqual(Object.fromEntries(known));
      counts.limited += Object.keys(content.peers).length - known.length;
      expect(Object.keys(after.destinations)).toHaveLength(Object.keys(content.destinations).length);
      for (const [key, destination] of Object.entries(content.destinations)) {
        const { answers, ...rest } = destination;
        const isKnown = answers === undefined || (answers === "global" && version === 2);
        if (isKnown) expect(after.destinations[key]).toEqual(destination);
        else if (answers === "networks") {
          // A default of the gateway: the name opens what it has always opened.
          counts.opened += 1;
          expect(after.destinations[key]).toEqual(rest);
        } else {
          counts.closed += 1;
          expect(after.destinations[key]).toEqual(closed);
        }
      }
    }),
    { numRuns: 200 },
  );
  expect(Math.min(counts.closed, counts.opened, counts.networks)).toBeGreaterThan(20);
  if (version === 1) expect(counts.limited).toBeGreaterThan(100);
  else expect(counts.limited).toBe(0);
});

test("agents of version 3 get the content as it is, and others too if they know all of it", () => {
  const tree = contentTreeOf({
    settings: {
      interface: { listenPort: 51820, ipv4: "100.127.255.254", ipv6: "fd00::1", pools: ["100.64.0.0/10"] },
      dns: { resolvers: [], domains: [], networks: ["10.0.0.0/8"] },
    },
    peers: {},
    classes: {},
    resources: {},
    destinations: { "db.example.com": { services: [], otherwise: "drop", answers: ["10.0.0.0/24"] } },
  });
  expect(contentForVersion(tree, 3)).toBe(tree);
  const { networks: _, ...dns } = tree.settings.dns;
  const plain = contentTreeOf({
    ...contentOf(tree),
    settings: { ...tree.settings, dns },
    destinations: { "db.example.com": { services: [], otherwise: "drop" } },
  });
  for (const version of [1, 2] as const) expect(contentForVersion(plain, version)).toBe(plain);
});
