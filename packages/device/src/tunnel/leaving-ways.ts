/**
 * Gateways that a configuration no longer names, while what began through them may still end there: a gateway in maintenance lets running
 * connections finish, and through another one they would break. Pure.
 */
import { disjointRanges } from "@gatehouse/addresses/disjoint-ranges";
import { type Family, formatAddress, parseIpBlock } from "@gatehouse/addresses/ip-block";
import { sha256 } from "@gatehouse/agent-core/crypto/signatures";
import type { WantedTunnel } from "./wanted-tunnel.ts";

/** How long gateways in maintenance let connections finish, in milliseconds. */
const leavingMs = 5 * 60_000;
/** So many at once are more than any maintenance needs. */
const mostLeaving = 16;

interface LeavingWay {
  readonly publicKey: string;
  readonly endpoint: string;
  /** What went through it, and goes through others now. */
  readonly blocks: readonly string[];
  /** The addresses of these blocks that were its own, `first-last`: of blocks within each other the longest prefix counts. */
  readonly ranges: readonly string[];
  /** When it ends, milliseconds since 1970. */
  readonly until: number;
}

/** The addresses that go through each gateway, by its public key, as ranges `first-last`. */
export type Carriers = ReadonlyMap<string, readonly string[]>;

export interface Leaving {
  readonly ways: readonly LeavingWay[];
  /**
   * What went where just before the first of them left. Since then connections get the mark of the gateway that they begin with, so one
   * without a mark began with these, however often gateways have come and gone in between.
   */
  readonly beganWith: Carriers;
}

export const nothingLeaves: Leaving = { ways: [], beganWith: new Map() };

/**
 * @param isAnswering whether a gateway, by its public key, still answers: one that is gone has nothing to finish
 * @returns those that go on leaving, and those that begin to
 */
export function nextLeaving(
  known: Leaving,
  before: WantedTunnel | undefined,
  after: WantedTunnel,
  isAnswering: (publicKey: string) => boolean,
  now: number,
): Leaving {
  const carried = new Set([...after.peers.values()].flatMap(({ allowedIps }) => allowedIps));
  // One that is back is a peer of the tunnel itself: two interfaces with one key would take its sessions from each other.
  const staying = known.ways.filter(({ publicKey, until }) => !after.peers.has(publicKey) && until > now);
  const begun: LeavingWay[] = [];
  for (const [publicKey, { endpoint, allowedIps }] of before?.peers ?? []) {
    if (after.peers.has(publicKey) || endpoint === undefined || !isAnswering(publicKey)) continue;
    const blocks = allowedIps.filter((block) => carried.has(block));
    if (blocks.length === 0 || before === undefined) continue;
    const isMoved = new Set(blocks);
    const ranges = carriers(before, (block) => isMoved.has(block)).get(publicKey) ?? [];
    begun.push({ publicKey, endpoint, blocks, ranges, until: now + leavingMs });
  }
  // One interface has one way for a block: the gateway that carried it last.
  const moved = new Set(begun.flatMap(({ blocks }) => blocks));
  const ways = [...staying.filter(({ blocks }) => !blocks.some((block) => moved.has(block))), ...begun];
  if (ways.length === 0 || before === undefined) return nothingLeaves;
  return {
    ways: ways.slice(-mostLeaving),
    beganWith: known.ways.length === 0 ? carriers(before) : known.beganWith,
  };
}

/** @param isCounted which blocks are told of; the others still take their addresses from those around them */
export function carriers({ peers }: WantedTunnel, isCounted: (block: string) => boolean = () => true): Carriers {
  const ranges = new Map<string, string[]>();
  for (const family of [4, 6] as const satisfies readonly Family[]) {
    const all = [...peers].flatMap(([publicKey, { allowedIps }]) =>
      allowedIps.flatMap((text) => {
        const block = parseIpBlock(text);
        return block?.family === family ? [{ block, value: isCounted(text) ? publicKey : undefined }] : [];
      }),
    );
    for (const { first, last, value } of disjointRanges(all)) {
      if (value === undefined) continue;
      const [from, to] = [formatAddress(family, first), formatAddress(family, last)];
      ranges.set(value, [...(ranges.get(value) ?? []), from === to ? from : `${from}-${to}`]);
    }
  }
  return ranges;
}

/** Of connections that began with a gateway. By its key alone, so that marks which an earlier leaving left still tell the truth. */
export function connectionMark(publicKey: string): number {
  return Number.parseInt(sha256(publicKey).slice(0, 8), 16) || 1;
}

/**
 * What nft is told while something leaves: connections over TCP get the mark of the gateway that they begin with, and those of a gateway
 * that is leaving go there; all others as ever.
 *
 * @param now what goes where
 * @param isMoving whether the interfaces are exchanging gateways: until both are done, packets of what leaves would reach the wrong one,
 *   and end the connection there. They are dropped, and sent again by TCP.
 */
export function leavingScript(
  table: string,
  { ways, beganWith }: Leaving,
  now: Carriers,
  packetMark: number,
  isMoving = false,
): string {
  const lines = [`table inet ${table} {}`, `delete table inet ${table}`];
  if (ways.length === 0) return `${lines.join("\n")}\n`;
  lines.push(`table inet ${table} {`);
  /** @returns what matches destinations in these ranges, one for each family that has any */
  const destinations = (name: string, ranges: readonly string[]): readonly string[] =>
    (["ip", "ip6"] as const).flatMap((kind) => {
      const elements = ranges.filter((range) => range.includes(":") === (kind === "ip6"));
      if (elements.length === 0) return [];
      const type = kind === "ip" ? "ipv4_addr" : "ipv6_addr";
      const text = elements.join(", ");
      lines.push(`set ${name}-${kind} { type ${type}; flags interval; auto-merge; elements = { ${text} } }`);
      return [`${kind} daddr @${name}-${kind}`];
    });
  const begins = [...now].flatMap(([publicKey, ranges], index) =>
    destinations(`now-${index}`, ranges).map((is) => `${is} ct mark set ${connectionMark(publicKey)} accept`),
  );
  const leaves = ways.map(({ publicKey, ranges }, index) => ({
    mark: connectionMark(publicKey),
    to: destinations(`leaving-${index}`, ranges),
    began: destinations(`began-${index}`, beganWith.get(publicKey) ?? []),
  }));
  const marks = new Set([...[...now.keys()].map(connectionMark), ...leaves.map(({ mark }) => mark)]);
  const there = `meta mark set ${packetMark} accept`;
  lines.push(
    ...["chain begins {", ...begins, "accept", "}"],
    ...["chain output {", "type route hook output priority mangle; policy accept;", "meta l4proto != tcp accept"],
    ...(isMoving ? leaves.flatMap(({ to }) => to.map((is) => `${is} drop`)) : []),
    "tcp flags & (fin | syn | rst | ack) == syn jump begins",
    ...leaves.flatMap(({ mark, to }) => to.map((is) => `${is} ct mark ${mark} ${there}`)),
    `ct mark { ${[...marks].join(", ")} } accept`,
    ...leaves.flatMap(({ to, began }) =>
      to.flatMap((is) =>
        began.filter((was) => was.split(" ")[0] === is.split(" ")[0]).map((was) => `${is} ${was} ${there}`),
      ),
    ),
  );
  return `${[...lines, "}", "}"].join("\n")}\n`;
}
