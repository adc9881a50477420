import fc from "fast-check";
import { expect, test } from "vitest";
import { randomContent } from "../testing/random-content.ts";
import type { Destination } from "./configuration.ts";
import { contentOf, contentTreeOf } from "./content-tree.ts";
import { contentForVersion1 } from "./version-1.ts";

test("agents of version 1 get no field that they do not know, and what it limits is closed", () => {
  let closed = 0;
  let limited = 0;
  fc.assert(
    fc.property(randomContent, fc.array(fc.boolean(), { minLength: 1 }), (content, choices) => {
      const destinations: Record<string, Destination> = Object.fromEntries(
        Object.entries(content.destinations).map(([key, destination], index) => {
          const { answers: _, ...rest } = destination;
          return [key, choices[index % choices.length] === true ? { ...rest, answers: "global" as const } : rest];
        }),
      );
      const tree = contentTreeOf({ ...content, destinations });
      const adapted = contentForVersion1(tree);
      expect(contentForVersion1(tree)).toBe(adapted);
      const after = contentOf(adapted);
      expect({ ...after, destinations: {}, peers: {} }).toEqual({ ...contentOf(tree), destinations: {}, peers: {} });
      const unlimited = Object.entries(content.peers).filter(([, peer]) => !("until" in peer));
      expect(after.peers).toEqual(Object.fromEntries(unlimited));
      limited += Object.keys(content.peers).length - unlimited.length;
      expect(Object.keys(after.destinations)).toHaveLength(Object.keys(destinations).length);
      for (const [key, destination] of Object.entries(destinations)) {
        if (destination.answers === undefined) expect(after.destinations[key]).toEqual(destination);
        else {
          closed += 1;
          expect(after.destinations[key]).toEqual({ services: [], otherwise: "drop" });
        }
      }
    }),
    { numRuns: 200 },
  );
  expect(closed).toBeGreaterThan(100);
  expect(limited).toBeGreaterThan(100);
});
