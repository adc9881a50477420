import { expect, test } from "vitest";
import { TcpConnections } from "./tcp-connections.ts";

/** Opens connections in order, and returns those that are still open. */
function openAfter(most: number, mostPerClient: number, clients: readonly string[], answering: readonly string[] = []) {
  const connections = new TcpConnections(most, mostPerClient);
  const counts = new Map<string, number>();
  const open = new Set<string>();
  for (const client of clients) {
    const number = (counts.get(client) ?? 0) + 1;
    counts.set(client, number);
    const name = `${client}${number}`;
    open.add(name);
    connections.add(client, { isAnswering: answering.includes(name), end: () => open.delete(name) });
  }
  return [...open];
}

const many = (client: string, count: number) => Array.from({ length: count }, () => client);

test.each<[what: string, most: number, clients: readonly string[], open: readonly string[]]>([
  ["all connections stay open below the limits", 4, ["a", "b", "a"], ["a1", "b1", "a2"]],
  ["a client at its own limit replaces its oldest one", 9, [...many("a", 4), "b"], ["a2", "a3", "a4", "b1"]],
  [
    "at the common limit, the largest client loses its oldest one",
    4,
    ["b", ...many("a", 3), "c"],
    ["b1", "a2", "a3", "c1"],
  ],
  ["a large client cannot take the slot of a small one", 3, ["a", "a", "b", "a", "a"], ["b1", "a3", "a4"]],
  ["equal clients make room for another one", 2, ["a", "b", "c"], ["b1", "c1"]],
  ["one client alone replaces its own", 2, ["a", "a", "a"], ["a2", "a3"]],
])("%s", (_, most, clients, open) => {
  expect(openAfter(most, 3, clients)).toEqual(open);
});

test("connections with a question in progress end last", () => {
  expect(openAfter(2, 2, ["a", "a", "a"], ["a1"])).toEqual(["a1", "a3"]);
  expect(openAfter(2, 2, ["a", "a", "a"], ["a1", "a2"])).toEqual(["a2", "a3"]);
});

test("closed connections free their slot", () => {
  const connections = new TcpConnections(1);
  const ended: string[] = [];
  const add = (name: string) => connections.add("a", { isAnswering: false, end: () => ended.push(name) });
  const closed = add("first");
  closed();
  closed();
  add("second");
  expect(ended).toEqual([]);
  add("third");
  expect(ended).toEqual(["second"]);
});
