import type { LivePeer } from "@gatehouse/agent-core/wireguard/wireguard-interface";
import { expect, test } from "vitest";
import { choiceFor, chosenWay, type EndpointChoice, newEndpointChoice, watchedChoice } from "./endpoint-choice.ts";

const ways = { endpoint: "192.0.2.1:51820", relays: ["192.0.2.2:40001", "192.0.2.3:40001"] };

function live(changes: Partial<LivePeer> = {}): LivePeer {
  return { endpoint: undefined, allowedIps: [], lastHandshake: undefined, receivedBytes: 0, sentBytes: 0, ...changes };
}

/** Looks each 5 s, as the agent does. @returns the ways that were used, each look one */
function watched(start: EndpointChoice, looks: readonly Partial<LivePeer>[], from = 0) {
  let choice = start;
  const used = looks.map((look, index) => {
    choice = watchedChoice(choice, live(look), from + index * 5_000);
    return chosenWay(choice);
  });
  return { choice, used };
}

test("tries the relays in order when nothing answers for 15 s, and the endpoint after the last", () => {
  const sent = Array.from({ length: 12 }, (_, index) => ({ sentBytes: 148 * (index + 1) }));
  const { used } = watched(newEndpointChoice(ways, 0), sent);
  expect([...new Set(used)]).toEqual([ways.endpoint, ...ways.relays]);
  expect(used.slice(0, 4)).toEqual([ways.endpoint, ways.endpoint, ways.endpoint, ways.relays[0]]);
});

test("stays where the gateway answers, by handshakes or by packets", () => {
  const answering = Array.from({ length: 20 }, (_, index) => ({
    sentBytes: 1_000 * index,
    receivedBytes: 500 * index,
  }));
  expect(new Set(watched(newEndpointChoice(ways, 0), answering).used)).toEqual(new Set([ways.endpoint]));
});

test("does not take unanswered keepalives of a silent tunnel for a dead endpoint", () => {
  const silent = Array.from({ length: 40 }, (_, index) => ({
    receivedBytes: 92,
    lastHandshake: 1_000,
    sentBytes: 148 + 32 * Math.floor(index / 5),
  }));
  expect(new Set(watched(newEndpointChoice(ways, 0), silent).used)).toEqual(new Set([ways.endpoint]));
});

test("notices an endpoint that answered once and is gone now", () => {
  const looks = Array.from({ length: 8 }, (_, index) => ({
    receivedBytes: 92,
    lastHandshake: 1_000,
    sentBytes: index === 0 ? 148 : 148 + 148 * index,
  }));
  expect(watched(newEndpointChoice(ways, 0), looks).used.at(-1)).toBe(ways.relays[0]);
});

test("tries the endpoint again each 5 minutes while a relay serves", () => {
  const onRelay: EndpointChoice = { ...newEndpointChoice(ways, 0), index: 1, since: 0 };
  const serving = (index: number) => ({ sentBytes: 1_000 * index, receivedBytes: 1_000 * index });
  const looks = Array.from({ length: 61 }, (_, index) => serving(index));
  const { used } = watched(onRelay, looks);
  expect(used[59]).toBe(ways.relays[0]);
  expect(used[60]).toBe(ways.endpoint);
});

test("goes nowhere where there is one way, or none", () => {
  const sent = Array.from({ length: 12 }, (_, index) => ({ sentBytes: 148 * (index + 1) }));
  expect(new Set(watched(newEndpointChoice({ endpoint: "192.0.2.1:1", relays: [] }, 0), sent).used).size).toBe(1);
  expect(chosenWay(newEndpointChoice({ relays: [] }, 0))).toBeUndefined();
});

test("a new configuration in which the present way is one goes on with the search, one with others begins it", () => {
  const onRelay: EndpointChoice = { ...newEndpointChoice(ways, 0), index: 1, unansweredSince: 7 };
  const [first = "", second = ""] = ways.relays;
  expect(choiceFor(ways, onRelay, 9)).toBe(onRelay);
  for (const relays of [[second, first], ["192.0.2.4:40001", first], [first]]) {
    const chosen = choiceFor({ ...ways, relays }, onRelay, 9);
    expect([chosenWay(chosen), chosen.since, chosen.unansweredSince]).toEqual([first, 0, 7]);
    expect(chosen.ways).toEqual([ways.endpoint, ...relays]);
  }
  for (const other of [
    { ...ways, relays: [second] },
    { ...ways, endpoint: "192.0.2.9:51820" },
    { relays: ways.relays },
  ]) {
    expect(choiceFor(other, onRelay, 9)).toEqual(newEndpointChoice(other, 9));
  }
});
