import { expect, test } from "vitest";
import {
  type DeviceSources,
  latestSource,
  noSources,
  sourceAt,
  sourcesAtGateways,
  withObservation,
} from "./device-sources.ts";

function sourcesOf(...observations: readonly (readonly [string | null, string, number])[]): DeviceSources {
  return observations.reduce(
    (sources, [gatewayId, address, at]) => withObservation(sources, gatewayId, { address, at }),
    noSources,
  );
}

test.each([
  ["nothing", sourcesOf(), null, null, []],
  ["the control plane's", sourcesOf([null, "192.0.2.1", 5]), "192.0.2.1", "192.0.2.1", []],
  ["a gateway's alone", sourcesOf(["berlin", "192.0.2.2", 5]), "192.0.2.2", null, ["berlin"]],
  [
    "a gateway's later one",
    sourcesOf([null, "192.0.2.1", 5], ["berlin", "192.0.2.2", 6]),
    "192.0.2.2",
    "192.0.2.1",
    ["berlin"],
  ],
  [
    "a gateway's earlier one",
    sourcesOf(["berlin", "192.0.2.2", 5], [null, "192.0.2.1", 6]),
    "192.0.2.1",
    "192.0.2.1",
    [],
  ],
  ["equal addresses", sourcesOf([null, "192.0.2.1", 5], ["berlin", "192.0.2.1", 6]), "192.0.2.1", "192.0.2.1", []],
  [
    "an earlier observation that arrives later",
    sourcesOf(["berlin", "192.0.2.2", 6], ["berlin", "192.0.2.3", 5]),
    "192.0.2.2",
    null,
    ["berlin"],
  ],
])("%s", (_, sources, atBerlin, elsewhere, differing) => {
  expect(sourceAt(sources, "berlin")).toBe(atBerlin);
  expect(sourceAt(sources, "munich")).toBe(elsewhere);
  expect(sourceAt(sources)).toBe(elsewhere);
  expect([...sourcesAtGateways(sources).keys()]).toEqual(differing);
});

test.each([
  ["nothing", sourcesOf(), null],
  ["the control plane's last", sourcesOf(["berlin", "192.0.2.2", 5], [null, "192.0.2.1", 6]), "192.0.2.1"],
  [
    "a gateway's last",
    sourcesOf(["berlin", "192.0.2.2", 7], [null, "192.0.2.1", 6], ["munich", "192.0.2.3", 5]),
    "192.0.2.2",
  ],
])("the latest observation of all observers: %s", (_, sources, latest) => {
  expect(latestSource(sources)).toBe(latest);
});

test("the same observation changes nothing", () => {
  const sources = sourcesOf([null, "192.0.2.1", 5], ["berlin", "192.0.2.2", 6]);
  expect(withObservation(sources, "berlin", { address: "192.0.2.2", at: 6 })).toBe(sources);
  expect(withObservation(sources, null, { address: "192.0.2.3", at: 4 })).toBe(sources);
});
