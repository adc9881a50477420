import { expect, test } from "vitest";
import { carriers, connectionMark, type Leaving, leavingScript, nextLeaving, nothingLeaves } from "./leaving-ways.ts";
import type { WantedTunnel } from "./wanted-tunnel.ts";

const endpoint = "192.0.2.1:51820";
const tunnel = (peers: Readonly<Record<string, readonly string[]>>): WantedTunnel => ({
  addresses: [],
  peers: new Map(Object.entries(peers).map(([key, allowedIps]) => [key, { endpoint, allowedIps }])),
  routes: [],
  outside: [],
});
const always = () => true;
const now = 1_000_000;
const before = tunnel({ one: ["10.80.0.0/24", "fd80::/64", "10.90.0.1/32"], two: ["10.80.0.8/30"] });
const after = tunnel({ two: ["10.80.0.0/24", "10.80.0.8/30", "fd80::/64"] });

test("a gateway that is gone and answers keeps what others carry now, but not what was theirs before", () => {
  expect(nextLeaving(nothingLeaves, before, after, always, now)).toEqual({
    ways: [
      {
        publicKey: "one",
        endpoint,
        blocks: ["10.80.0.0/24", "fd80::/64"],
        ranges: ["10.80.0.0-10.80.0.7", "10.80.0.12-10.80.0.255", "fd80:0:0:0:0:0:0:0-fd80:0:0:0:ffff:ffff:ffff:ffff"],
        until: now + 300_000,
      },
    ],
    beganWith: carriers(before),
  });
});

test.each<[what: string, after: WantedTunnel, isAnswering: () => boolean]>([
  ["does not answer", after, () => false],
  ["still is there for something else", tunnel({ one: ["10.90.0.1/32"], two: ["10.80.0.0/24"] }), always],
  ["carried what nobody carries now", tunnel({ two: [] }), always],
])("nothing leaves where the gateway %s", (_, wanted, isAnswering) => {
  expect(nextLeaving(nothingLeaves, before, wanted, isAnswering, now)).toEqual(nothingLeaves);
});

const leaving = nextLeaving(nothingLeaves, before, after, always, now);

test("what leaves goes on doing so until its time, unless it is back or its blocks move again", () => {
  expect(nextLeaving(leaving, after, after, always, now + 299_999)).toEqual(leaving);
  expect(nextLeaving(leaving, after, after, always, now + 300_000)).toEqual(nothingLeaves);
  expect(nextLeaving(leaving, after, before, always, now)).toEqual(nothingLeaves);
  const third = nextLeaving(leaving, after, tunnel({ three: ["10.80.0.0/24"] }), always, now);
  expect(third.ways).toMatchObject([{ publicKey: "two", blocks: ["10.80.0.0/24"] }]);
});

const [a, b, c] = ["a", "b", "c"].map((key) => tunnel({ [key]: ["10.80.0.0/24"] })) as [
  WantedTunnel,
  WantedTunnel,
  WantedTunnel,
];
const everything = "ip daddr @leaving-0-ip";
const there = "meta mark set 5 accept";

test.each<[what: string, moves: readonly WantedTunnel[], leaves: string, unmarkedLeave: boolean, begins: string]>([
  ["has left", [a, b], "a", true, "b"],
  ["is back", [a, b, a], "b", false, "a"],
  ["has left again", [a, b, a, b], "a", true, "b"],
  ["has left, and the next one too", [a, b, c], "b", false, "c"],
  ["is back after two others", [a, b, c, a], "c", false, "a"],
])(
  "connections keep to the gateway that they began with where the first one %s",
  (_, moves, leaves, unmarked, begins) => {
    let state = nothingLeaves;
    for (const [index, wanted] of moves.entries()) state = nextLeaving(state, moves[index - 1], wanted, always, now);
    expect(state.ways.map(({ publicKey }) => publicKey)).toEqual([leaves]);
    const lines = leavingScript("gatehouse-gd0d", state, carriers(moves.at(-1) as WantedTunnel), 5).split("\n");
    expect(lines).toContain(`ip daddr @now-0-ip ct mark set ${connectionMark(begins)} accept`);
    expect(lines).toContain(`${everything} ct mark ${connectionMark(leaves)} ${there}`);
    expect(lines).toContain(`ct mark { ${connectionMark(begins)}, ${connectionMark(leaves)} } accept`);
    expect(lines.includes(`${everything} ip daddr @began-0-ip ${there}`)).toBe(unmarked);
  },
);

test("marks that were given before everything had left tell the same later", () => {
  expect(connectionMark("a")).toBe(connectionMark("a"));
  expect(new Set(["a", "b", "c"].map(connectionMark)).size).toBe(3);
});

test("nft is told of both families, to drop what leaves while gateways are exchanged, and of nothing where nothing leaves", () => {
  const script = (state: Leaving, isMoving = false) =>
    leavingScript("gatehouse-gd0d", state, carriers(after), 5, isMoving);
  expect(script(nothingLeaves)).toBe("table inet gatehouse-gd0d {}\ndelete table inet gatehouse-gd0d\n");
  expect(script(leaving)).toContain(
    "set leaving-0-ip { type ipv4_addr; flags interval; auto-merge; elements = { 10.80.",
  );
  expect(script(leaving)).toContain(`ip6 daddr @leaving-0-ip6 ip6 daddr @began-0-ip6 ${there}`);
  expect(script(leaving)).not.toContain("drop");
  expect(script(leaving, true)).toContain("ip daddr @leaving-0-ip drop\nip6 daddr @leaving-0-ip6 drop\ntcp flags");
});
