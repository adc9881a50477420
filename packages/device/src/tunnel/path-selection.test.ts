import type { LivePeer } from "@gatehouse/agent-core/wireguard/wireguard-interface";
import { expect, test } from "vitest";
import {
  newPathSelection,
  observedSelection,
  type PathSelection,
  selectedPath,
  selectionFor,
} from "./path-selection.ts";

const paths = { endpoint: "192.0.2.1:51820", relays: ["192.0.2.2:40001", "192.0.2.3:40001"] };

function live(changes: Partial<LivePeer> = {}): LivePeer {
  return { endpoint: undefined, allowedIps: [], lastHandshake: undefined, receivedBytes: 0, sentBytes: 0, ...changes };
}

/** Observes the peer every 5 s, as the agent does. @returns the selected path after each observation */
function observed(start: PathSelection, observations: readonly Partial<LivePeer>[], from = 0) {
  let selection = start;
  const used = observations.map((observation, index) => {
    selection = observedSelection(selection, live(observation), from + index * 5_000);
    return selectedPath(selection);
  });
  return { selection, used };
}

test("tries the relays in order after 15 s without an answer, and the endpoint after the last relay", () => {
  const sent = Array.from({ length: 12 }, (_, index) => ({ sentBytes: 148 * (index + 1) }));
  const { used } = observed(newPathSelection(paths, 0), sent);
  expect([...new Set(used)]).toEqual([paths.endpoint, ...paths.relays]);
  expect(used.slice(0, 4)).toEqual([paths.endpoint, paths.endpoint, paths.endpoint, paths.relays[0]]);
});

test("stays while the gateway answers, by handshakes or by packets", () => {
  const answering = Array.from({ length: 20 }, (_, index) => ({
    sentBytes: 1_000 * index,
    receivedBytes: 500 * index,
  }));
  expect(new Set(observed(newPathSelection(paths, 0), answering).used)).toEqual(new Set([paths.endpoint]));
});

test("does not mistake unanswered keepalives of an idle tunnel for a dead endpoint", () => {
  const silent = Array.from({ length: 40 }, (_, index) => ({
    receivedBytes: 92,
    lastHandshake: 1_000,
    sentBytes: 148 + 32 * Math.floor(index / 5),
  }));
  expect(new Set(observed(newPathSelection(paths, 0), silent).used)).toEqual(new Set([paths.endpoint]));
});

test("notices an endpoint that answered once and no longer does", () => {
  const observations = Array.from({ length: 8 }, (_, index) => ({
    receivedBytes: 92,
    lastHandshake: 1_000,
    sentBytes: index === 0 ? 148 : 148 + 148 * index,
  }));
  expect(observed(newPathSelection(paths, 0), observations).used.at(-1)).toBe(paths.relays[0]);
});

test("tries the endpoint again every 5 minutes while a relay is in use", () => {
  const onRelay: PathSelection = { ...newPathSelection(paths, 0), index: 1, since: 0 };
  const serving = (index: number) => ({ sentBytes: 1_000 * index, receivedBytes: 1_000 * index });
  const observations = Array.from({ length: 61 }, (_, index) => serving(index));
  const { used } = observed(onRelay, observations);
  expect(used[59]).toBe(paths.relays[0]);
  expect(used[60]).toBe(paths.endpoint);
});

test("stays if there is one path, or none", () => {
  const sent = Array.from({ length: 12 }, (_, index) => ({ sentBytes: 148 * (index + 1) }));
  expect(new Set(observed(newPathSelection({ endpoint: "192.0.2.1:1", relays: [] }, 0), sent).used).size).toBe(1);
  expect(selectedPath(newPathSelection({ relays: [] }, 0))).toBeUndefined();
});

test("a new configuration that has the selected path keeps the selection; others restart it", () => {
  const onRelay: PathSelection = { ...newPathSelection(paths, 0), index: 1, unansweredSince: 7 };
  const [first = "", second = ""] = paths.relays;
  expect(selectionFor(paths, onRelay, 9)).toBe(onRelay);
  for (const relays of [[second, first], ["192.0.2.4:40001", first], [first]]) {
    const chosen = selectionFor({ ...paths, relays }, onRelay, 9);
    expect([selectedPath(chosen), chosen.since, chosen.unansweredSince]).toEqual([first, 0, 7]);
    expect(chosen.paths).toEqual([paths.endpoint, ...relays]);
  }
  for (const other of [
    { ...paths, relays: [second] },
    { ...paths, endpoint: "192.0.2.9:51820" },
    { relays: paths.relays },
  ]) {
    expect(selectionFor(other, onRelay, 9)).toEqual(newPathSelection(other, 9));
  }
});
