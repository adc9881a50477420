import { expect, test } from "vitest";
import {
  allComparable,
  changesSourceAt,
  type DeviceSources,
  isNewObservation,
  latestSource,
  noSources,
  sourceAt,
  sourcesAtGateways,
  withObservations,
} from "./device-sources.ts";

/** The latest time that an observation can have. */
const latest = 100;

function sourcesOf(...observations: readonly (readonly [string | null, string, number])[]): DeviceSources {
  return withObservations(
    noSources,
    observations.map(([gatewayId, address, at]) => ({ gatewayId, source: { address, at } })),
    latest,
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

test("the same and earlier observations change nothing", () => {
  const sources = sourcesOf([null, "192.0.2.1", 5], ["berlin", "192.0.2.2", 6]);
  const known = [
    { gatewayId: "berlin", source: { address: "192.0.2.2", at: 6 } },
    { gatewayId: "berlin", source: { address: "192.0.2.3", at: 5 } },
    { gatewayId: null, source: { address: "192.0.2.3", at: 4 } },
  ];
  expect(withObservations(sources, known, latest)).toBe(sources);
});

test("the former sources stay unchanged, and the gateways' observations are copied once", () => {
  const sources = sourcesOf(["berlin", "192.0.2.2", 6]);
  let copies = 0;
  const gateways = new Map(sources.gateways);
  gateways.entries = () => {
    copies += 1;
    return sources.gateways.entries() as MapIterator<[string, { address: string; at: number }]>;
  };
  Object.defineProperty(gateways, Symbol.iterator, { value: gateways.entries });
  const many = Array.from({ length: 100 }, (_, index) => ({
    gatewayId: `gateway ${index}`,
    source: { address: "192.0.2.3", at: 7 },
  }));
  expect(withObservations({ ...sources, gateways }, many, latest).gateways.size).toBe(101);
  expect(copies).toBe(1);
  expect(sources.gateways.size).toBe(1);
});

test.each([
  ["a later one", { address: "192.0.2.9", at: 7 }, true],
  ["an earlier one", { address: "192.0.2.9", at: 5 }, false],
  ["another one of the same time", { address: "192.0.2.9", at: 6 }, true],
  ["the same address", { address: "192.0.2.2", at: 7 }, false],
])("whether the address at a gateway changes: %s", (_, source, changes) => {
  const sources = sourcesOf([null, "192.0.2.1", 5], ["berlin", "192.0.2.2", 6]);
  expect(changesSourceAt(sources, "berlin", source, latest)).toBe(changes);
  expect(sourceAt(withObservations(sources, [{ gatewayId: "berlin", source }], latest), "berlin")).toBe(
    changes ? source.address : "192.0.2.2",
  );
});

test("an observation of a gateway before that of the control plane does not change the address there", () => {
  const sources = sourcesOf([null, "192.0.2.1", 5]);
  expect(changesSourceAt(sources, "berlin", { address: "192.0.2.9", at: 4 }, latest)).toBe(false);
});

test("an observation with an invalid time precedes all others", () => {
  const office = { address: "192.0.2.1", at: latest + 1 };
  const home = { address: "198.51.100.9", at: 5 };
  const sources = { controlPlane: office, gateways: new Map([["munich", office]]) };
  expect(changesSourceAt(sources, "berlin", home, latest)).toBe(true);
  const seenAtBerlin = withObservations(sources, [{ gatewayId: "berlin", source: home }], latest);
  expect(sourceAt(seenAtBerlin, "berlin")).toBe(home.address);
  expect(latestSource(seenAtBerlin)).toBe(home.address);
  const connected = withObservations(sources, [{ gatewayId: null, source: home }], latest);
  expect(sourceAt(connected, "munich")).toBe(home.address);
  expect(allComparable(sources, latest).controlPlane).toEqual({ ...office, at: -1 });
});

test("the same observation with an invalid time is new only once", () => {
  const source = { address: "192.0.2.1", at: latest + 1 };
  for (const gatewayId of [null, "berlin"]) {
    const observation = { gatewayId, source };
    expect(isNewObservation(noSources, observation, latest)).toBe(true);
    const sources = withObservations(noSources, [observation], latest);
    expect(isNewObservation(sources, observation, latest)).toBe(false);
    expect(isNewObservation(sources, { gatewayId, source: { ...source, address: "192.0.2.2" } }, latest)).toBe(true);
  }
});

test.each([
  ["the control plane", null],
  ["the gateway", "berlin"],
  ["another gateway", "munich"],
])("an invalid time of %s makes one more observation necessary, which corrects it", (_, gatewayId) => {
  const home = { address: "198.51.100.9", at: 5 };
  const office = { address: "192.0.2.1", at: latest + 1 };
  const known = { controlPlane: home, gateways: new Map([["berlin", home]]) };
  const sources = withObservations(known, [{ gatewayId, source: office }], latest);
  expect(changesSourceAt(sources, "berlin", { ...home, at: 6 }, latest)).toBe(true);
  const corrected = withObservations(sources, [{ gatewayId, source: { ...office, at: 0 } }], latest);
  expect(changesSourceAt(corrected, "berlin", { ...home, at: 6 }, latest)).toBe(false);
});
