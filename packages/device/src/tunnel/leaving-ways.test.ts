import { expect, test } from "vitest";
import { type LeavingWay, leavingScript, leavingWays } from "./leaving-ways.ts";
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
  expect(leavingWays([], before, after, always, now)).toEqual([
    {
      publicKey: "one",
      endpoint,
      blocks: ["10.80.0.0/24", "fd80::/64"],
      ranges: ["10.80.0.0-10.80.0.7", "10.80.0.12-10.80.0.255", "fd80:0:0:0:0:0:0:0-fd80:0:0:0:ffff:ffff:ffff:ffff"],
      mark: 0x6750,
      until: now + 300_000,
    },
  ]);
});

test.each<[what: string, after: WantedTunnel, isAnswering: () => boolean]>([
  ["does not answer", after, () => false],
  ["still is there for something else", tunnel({ one: ["10.90.0.1/32"], two: ["10.80.0.0/24"] }), always],
  ["carried what nobody carries now", tunnel({ two: [] }), always],
])("nothing leaves where the gateway %s", (_, wanted, isAnswering) => {
  expect(leavingWays([], before, wanted, isAnswering, now)).toEqual([]);
});

const [leaving] = leavingWays([], before, after, always, now) as [LeavingWay];

test("what leaves goes on doing so until its time, unless it is back or its blocks move again", () => {
  const same = leavingWays([leaving], after, after, always, now + 299_999);
  expect(same).toEqual([leaving]);
  expect(leavingWays([leaving], after, after, always, now + 300_000)).toEqual([]);
  expect(leavingWays([leaving], after, before, always, now)).toEqual([]);
  const third = leavingWays([leaving], after, tunnel({ three: ["10.80.0.0/24"] }), always, now);
  expect(third).toMatchObject([{ publicKey: "two", blocks: ["10.80.0.0/24"], mark: 0x6751 }]);
});

test("nft is told to mark what began before, and nothing where nothing leaves", () => {
  expect(leavingScript("gatehouse-gd0d", [], 5)).toBe(
    "table inet gatehouse-gd0d {}\ndelete table inet gatehouse-gd0d\n",
  );
  const script = leavingScript("gatehouse-gd0d", [leaving], 5);
  expect(script).toContain("set ip-0 { type ipv4_addr; flags interval; auto-merge; elements = { 10.80.0.0-10.80.0.7, ");
  expect(script).toContain("tcp flags & (fin | syn | rst | ack) == syn ct mark set 26448 accept\nmeta mark set 5\n");
  expect(script).toContain("ip6 daddr @ip6-0 jump way-0");
});
