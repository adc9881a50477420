import { expect, test } from "vitest";
import { carriers, connectionMark, type Draining, drainScript, nextDraining, notDraining } from "./drain-routes.ts";
import type { WantedTunnel } from "./wanted-tunnel.ts";

const endpoint = "192.0.2.1:51820";
const tunnel = (peers: Readonly<Record<string, readonly string[]>>): WantedTunnel => ({
  addresses: [],
  peers: new Map(Object.entries(peers).map(([key, allowedIps]) => [key, { endpoint, allowedIps }])),
  routes: [],
  bypassRoutes: [],
});
const always = () => true;
const now = 1_000_000;
const before = tunnel({ one: ["10.80.0.0/24", "fd80::/64", "10.90.0.1/32"], two: ["10.80.0.8/30"] });
const after = tunnel({ two: ["10.80.0.0/24", "10.80.0.8/30", "fd80::/64"] });

test("a removed gateway that answers drains blocks that others carry now, unless they carried them before", () => {
  expect(nextDraining(notDraining, before, after, always, now)).toEqual({
    routes: [
      {
        publicKey: "one",
        endpoint,
        blocks: ["10.80.0.0/24", "fd80::/64"],
        ranges: ["10.80.0.0-10.80.0.7", "10.80.0.12-10.80.0.255", "fd80::-fd80::ffff:ffff:ffff:ffff"],
        until: now + 300_000,
      },
    ],
    unmarkedCarriers: carriers(before),
  });
});

test.each<[what: string, after: WantedTunnel, isAnswering: () => boolean]>([
  ["does not answer", after, () => false],
  ["still carries other addresses", tunnel({ one: ["10.90.0.1/32"], two: ["10.80.0.0/24"] }), always],
  ["carried addresses that no gateway carries now", tunnel({ two: [] }), always],
])("nothing drains if the gateway %s", (_, wanted, isAnswering) => {
  expect(nextDraining(notDraining, before, wanted, isAnswering, now)).toEqual(notDraining);
});

const draining = nextDraining(notDraining, before, after, always, now);

test("a gateway drains until its time is over, it returns, or its blocks move again", () => {
  expect(nextDraining(draining, after, after, always, now + 299_999)).toEqual(draining);
  expect(nextDraining(draining, after, after, always, now + 300_000)).toEqual(notDraining);
  expect(nextDraining(draining, after, before, always, now)).toEqual(notDraining);
  const third = nextDraining(draining, after, tunnel({ three: ["10.80.0.0/24"] }), always, now);
  expect(third.routes).toMatchObject([{ publicKey: "two", blocks: ["10.80.0.0/24"] }]);
});

const [a, b, c] = ["a", "b", "c"].map((key) => tunnel({ [key]: ["10.80.0.0/24"] })) as [
  WantedTunnel,
  WantedTunnel,
  WantedTunnel,
];
const everything = "ip daddr @draining-0-ip";
const toDrain = "meta mark set 5 accept";

test.each<[what: string, moves: readonly WantedTunnel[], drains: string, drainsUnmarked: boolean, starts: string]>([
  ["drains", [a, b], "a", true, "b"],
  ["returns", [a, b, a], "b", false, "a"],
  ["drains again", [a, b, a, b], "a", true, "b"],
  ["drains, and the next one too", [a, b, c], "b", false, "c"],
  ["returns after two others", [a, b, c, a], "c", false, "a"],
])("connections stay with their gateway when the first one %s", (_, moves, drains, drainsUnmarked, starts) => {
  let state: Draining = notDraining;
  for (const [index, wanted] of moves.entries()) state = nextDraining(state, moves[index - 1], wanted, always, now);
  expect(state.routes.map(({ publicKey }) => publicKey)).toEqual([drains]);
  const lines = drainScript("gatehouse-gd0d", state, carriers(moves.at(-1) as WantedTunnel), 5).split("\n");
  expect(lines).toContain(`ip daddr @current-0-ip ct mark set ${connectionMark(starts)} accept`);
  expect(lines).toContain(`${everything} ct mark ${connectionMark(drains)} ${toDrain}`);
  expect(lines).toContain(`ct mark { ${connectionMark(starts)}, ${connectionMark(drains)} } accept`);
  expect(lines.includes(`${everything} ip daddr @unmarked-0-ip ${toDrain}`)).toBe(drainsUnmarked);
});

test("a gateway with 40,000 blocks drains at once", { timeout: 15_000 }, () => {
  const blocks = Array.from({ length: 40_000 }, (_, n) => `10.${n >> 14}.${(n >> 6) & 255}.${(n & 63) * 4}/31`);
  const [route] = nextDraining(notDraining, tunnel({ one: blocks }), tunnel({ two: blocks }), always, now).routes;
  expect(route?.ranges).toHaveLength(blocks.length);
});

test("the mark of a gateway never changes", () => {
  expect(connectionMark("a")).toBe(connectionMark("a"));
  expect(new Set(["a", "b", "c"].map(connectionMark)).size).toBe(3);
});

test("the script has both families, drops packets during a move, and is empty if nothing drains", () => {
  const script = (state: Draining, isMoving = false) =>
    drainScript("gatehouse-gd0d", state, carriers(after), 5, isMoving);
  expect(script(notDraining)).toBe("table inet gatehouse-gd0d {}\ndelete table inet gatehouse-gd0d\n");
  expect(script(draining)).toContain(
    "set draining-0-ip { type ipv4_addr; flags interval; auto-merge; elements = { 10.80.",
  );
  expect(script(draining)).toContain(`ip6 daddr @draining-0-ip6 ip6 daddr @unmarked-0-ip6 ${toDrain}`);
  expect(script(draining)).not.toContain("drop");
  expect(script(draining, true)).toContain("ip daddr @draining-0-ip drop\nip6 daddr @draining-0-ip6 drop\ntcp flags");
});
