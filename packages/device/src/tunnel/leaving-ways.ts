/**
 * Gateways that a configuration no longer names, while what began through them may still end there: a gateway in maintenance lets running
 * connections finish, and through another one they would break. Pure.
 */
import { disjointRanges } from "@gatehouse/gateway/addresses/disjoint-ranges";
import { type Family, formatAddress, parseIpBlock } from "@gatehouse/gateway/addresses/ip-block";
import type { WantedTunnel } from "./wanted-tunnel.ts";

/** How long gateways in maintenance let connections finish, in milliseconds. */
const leavingMs = 5 * 60_000;
/** So many at once are more than any maintenance needs. */
const mostLeaving = 16;

export interface LeavingWay {
  readonly publicKey: string;
  readonly endpoint: string;
  /** What went through it, and goes through others now. */
  readonly blocks: readonly string[];
  /** The addresses of these blocks that were its own, `first-last`: of blocks within each other the longest prefix counts. */
  readonly ranges: readonly string[];
  /** Of connections that began after the move, and go the new way. */
  readonly mark: number;
  /** When it ends, milliseconds since 1970. */
  readonly until: number;
}

/** Marks of connections are this and above. */
const firstMark = 0x6750;

/**
 * @param isAnswering whether a gateway, by its public key, still answers: one that is gone has nothing to finish
 * @returns those that go on leaving, and those that begin to
 */
export function leavingWays(
  known: readonly LeavingWay[],
  before: WantedTunnel | undefined,
  after: WantedTunnel,
  isAnswering: (publicKey: string) => boolean,
  now: number,
): readonly LeavingWay[] {
  const carried = new Set([...after.peers.values()].flatMap(({ allowedIps }) => allowedIps));
  // One that is back is a peer of the tunnel itself: two interfaces with one key would take its sessions from each other.
  const staying = known.filter(({ publicKey, until }) => !after.peers.has(publicKey) && until > now);
  const begun: LeavingWay[] = [];
  for (const [publicKey, { endpoint, allowedIps }] of before?.peers ?? []) {
    if (after.peers.has(publicKey) || endpoint === undefined || !isAnswering(publicKey)) continue;
    const blocks = allowedIps.filter((block) => carried.has(block));
    if (blocks.length === 0 || before === undefined) continue;
    const ranges = ownRanges(before, publicKey, blocks);
    const mark = nextMark([...known, ...begun]);
    begun.push({ publicKey, endpoint, blocks, ranges, mark, until: now + leavingMs });
  }
  const moved = new Set(begun.flatMap(({ blocks }) => blocks));
  const stillLeaving = staying.filter(({ blocks }) => !blocks.some((block) => moved.has(block)));
  return [...stillLeaving, ...begun].slice(-mostLeaving);
}

/** What nft is told while something leaves: connections over TCP that began before go the old way, marked; all others as ever. */
export function leavingScript(table: string, ways: readonly LeavingWay[], packetMark: number): string {
  const lines = [`table inet ${table} {}`, `delete table inet ${table}`];
  if (ways.length === 0) return `${lines.join("\n")}\n`;
  lines.push(`table inet ${table} {`);
  const jumps: string[] = [];
  for (const [index, { ranges, mark }] of ways.entries()) {
    for (const [kind, family, isOfFamily] of [
      ["ip", "ipv4_addr", (range: string) => !range.includes(":")],
      ["ip6", "ipv6_addr", (range: string) => range.includes(":")],
    ] as const) {
      const elements = ranges.filter(isOfFamily);
      if (elements.length === 0) continue;
      lines.push(
        `set ${kind}-${index} { type ${family}; flags interval; auto-merge; elements = { ${elements.join(", ")} } }`,
      );
      jumps.push(`${kind} daddr @${kind}-${index} jump way-${index}`);
    }
    lines.push(
      `chain way-${index} {`,
      `ct mark ${mark} accept`,
      `tcp flags & (fin | syn | rst | ack) == syn ct mark set ${mark} accept`,
      `meta mark set ${packetMark}`,
      "accept",
      "}",
    );
  }
  lines.push("chain output {", "type route hook output priority mangle; policy accept;", "meta l4proto != tcp accept");
  return `${[...lines, ...jumps, "}", "}"].join("\n")}\n`;
}

function ownRanges(before: WantedTunnel, publicKey: string, blocks: readonly string[]): readonly string[] {
  const isMoved = new Set(blocks);
  const ranges: string[] = [];
  for (const family of [4, 6] as const satisfies readonly Family[]) {
    const all = [...before.peers].flatMap(([key, { allowedIps }]) =>
      allowedIps.flatMap((text) => {
        const block = parseIpBlock(text);
        return block?.family === family ? [{ block, value: key === publicKey && isMoved.has(text) }] : [];
      }),
    );
    for (const { first, last, value } of disjointRanges(all)) {
      if (!value) continue;
      const [from, to] = [formatAddress(family, first), formatAddress(family, last)];
      ranges.push(from === to ? from : `${from}-${to}`);
    }
  }
  return ranges;
}

function nextMark(ways: readonly LeavingWay[]): number {
  return Math.max(firstMark - 1, ...ways.map(({ mark }) => mark)) + 1;
}
