import { describe, expect, test } from "vitest";
import { hasElements, ruleHandles } from "./nft-listing.ts";
import type { NftSet, NftState } from "./nft-state.ts";

const state: NftState = {
  chains: new Map([
    ["forward", ["type filter hook forward priority filter ; policy accept ;", "goto traffic"]],
    ["traffic", ["drop"]],
  ]),
  sets: new Map([
    [
      "hosts4",
      { kind: "map", type: "ipv4_addr : verdict", isInterval: false, elements: new Map([["10.0.0.1", "goto d"]]) },
    ],
    [
      "local6",
      {
        kind: "set",
        type: "ipv6_addr",
        isInterval: true,
        elements: new Map([
          ["fc00::-fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", ""],
          ["::1", ""],
        ]),
      },
    ],
    [
      "relayed4",
      { kind: "set", type: "ipv4_addr . inet_service", isInterval: false, elements: new Map([["192.0.2.1 . 1", ""]]) },
    ],
  ]),
  counters: new Set(),
};

const listed = (traffic: readonly string[], flags = "") =>
  [
    "table inet t { # handle 1",
    flags,
    "\tchain forward { # handle 2",
    "\t\ttype filter hook forward priority filter; policy accept;",
    "\t\tgoto traffic # handle 4",
    "\t}",
    "\tchain traffic { # handle 3",
    ...traffic.map((rule) => `\t\t${rule}`),
    "\t}",
    "}",
  ].join("\n");

describe("the rules that nft lists", () => {
  const handles = ruleHandles(listed(["drop # handle 5"]), state);

  test("match the state, even if a rule takes two lines", () => {
    expect(handles).toBeDefined();
    expect(ruleHandles(listed(["ip saddr { 10.0.0.1,", "10.0.0.2 } drop # handle 5"]), state)).toBe(handles);
  });

  test.each([
    ["one is missing", listed([])],
    ["one was added", listed(["accept # handle 9", "drop # handle 5"])],
    ["one was replaced", listed(["accept # handle 9"])],
    ["the table is dormant", listed(["drop # handle 5"], "\tflags dormant")],
    ["a chain is missing", "table inet t {\n}"],
  ])("differ if %s", (_, text) => {
    expect(ruleHandles(text, state)).not.toBe(handles);
  });
});

describe("the elements that nft lists", () => {
  const json = (hosts: readonly unknown[], local: readonly unknown[], relayed: readonly unknown[] = [{ concat: [] }]) =>
    JSON.stringify({
      nftables: [
        { metainfo: {} },
        { map: { name: "hosts4", elem: hosts } },
        { set: { name: "local6", elem: local } },
        { set: { name: "relayed4", elem: relayed } },
      ],
    });
  const host = ["10.0.0.1", { goto: { target: "d" } }];
  const counted = [{ elem: { val: "10.0.0.1", counter: { packets: 7 } } }, { goto: { target: "d" } }];
  const local = ["::1", { prefix: { addr: "fc00::", len: 7 } }];

  test("match the state, in any notation", () => {
    expect(hasElements(json([host], local), state)).toBe(true);
    expect(hasElements(json([counted], [...local].reverse()), state)).toBe(true);
    const halves = [
      { prefix: { addr: "fc00::", len: 8 } },
      { range: ["fd00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"] },
    ];
    expect(hasElements(json([host], ["::1", ...halves]), state)).toBe(true);
  });

  test("do not count if rules add them", () => {
    const sources: NftSet = { kind: "set", type: "ipv4_addr", isInterval: false, elements: new Map(), dynamicSize: 9 };
    const relaying = { ...state, sets: new Map(state.sets).set("sources", sources) };
    const { nftables } = JSON.parse(json([host], local));
    const added = { set: { name: "sources", elem: [{ elem: { val: "192.0.2.7", expires: 9, limit: { rate: 20 } } }] } };
    expect(hasElements(JSON.stringify({ nftables: [...nftables, added] }), relaying)).toBe(true);
    expect(hasElements(json([host], local), relaying)).toBe(false);
  });

  test.each([
    ["one is missing", json([], local)],
    ["one was added", json([host, ["10.0.0.2", { goto: { target: "d" } }]], local)],
    ["one has another verdict", json([["10.0.0.1", { accept: null }]], local)],
    ["a range is shorter", json([host], ["::1", { prefix: { addr: "fc00::", len: 8 } }])],
    ["a relay was added", json([host], local, [{ concat: [] }, { concat: [] }])],
    ["a set is missing", JSON.stringify({ nftables: [] })],
  ])("differ if %s", (_, text) => {
    expect(hasElements(text, state)).toBe(false);
  });
});
