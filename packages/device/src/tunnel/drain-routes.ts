/**
 * Gateways that the configuration no longer has, but that connections still use. A gateway in maintenance lets
 * established connections finish; through another gateway they would break. This module has no side effects.
 */
import { disjointRanges } from "@gatehouse/addresses/disjoint-ranges";
import { formatIpAddress } from "@gatehouse/addresses/ip-address";
import { type Family, parseIpBlock } from "@gatehouse/addresses/ip-block";
import { sha256 } from "@gatehouse/agent-core/crypto/signatures";
import type { WantedTunnel } from "./wanted-tunnel.ts";

/** How long a gateway in maintenance lets connections finish. */
const drainMs = 5 * 60_000;
/** More gateways than any maintenance drains at once. */
const mostDraining = 16;

interface DrainRoute {
  readonly publicKey: string;
  readonly endpoint: string;
  /** The blocks that this gateway carried, and that other gateways carry now. */
  readonly blocks: readonly string[];
  /** The addresses that this gateway carried, as `first-last`. In nested blocks, the longest prefix counts. */
  readonly ranges: readonly string[];
  /** When the draining ends, by a monotonic clock. */
  readonly until: number;
}

/** The addresses that each gateway carries, by its public key, as ranges `first-last`. */
export type Carriers = ReadonlyMap<string, readonly string[]>;

export interface Draining {
  readonly routes: readonly DrainRoute[];
  /**
   * The carriers just before the first gateway started to drain. Since then, each new connection gets the mark of its
   * gateway. A connection without a mark therefore started with one of these carriers, even if gateways changed since.
   */
  readonly unmarkedCarriers: Carriers;
}

export const notDraining: Draining = { routes: [], unmarkedCarriers: new Map() };

/**
 * Returns the gateways that still drain, and those that start to.
 *
 * @param isAnswering whether the gateway with this public key still answers. A gateway that is down cannot finish
 *   anything
 */
export function nextDraining(
  known: Draining,
  before: WantedTunnel | undefined,
  after: WantedTunnel,
  isAnswering: (publicKey: string) => boolean,
  now: number,
): Draining {
  const carried = new Set([...after.peers.values()].flatMap(({ allowedIps }) => allowedIps));
  // A gateway that is back belongs to the first interface only: two interfaces would disrupt each other's sessions.
  const staying = known.routes.filter(({ publicKey, until }) => !after.peers.has(publicKey) && until > now);
  const started: DrainRoute[] = [];
  for (const [publicKey, { endpoint, allowedIps }] of before?.peers ?? []) {
    if (after.peers.has(publicKey) || endpoint === undefined || !isAnswering(publicKey)) continue;
    const blocks = allowedIps.filter((block) => carried.has(block));
    if (blocks.length === 0 || before === undefined) continue;
    const isMoved = new Set(blocks);
    const ranges = carriers(before, (block) => isMoved.has(block)).get(publicKey) ?? [];
    started.push({ publicKey, endpoint, blocks, ranges, until: now + drainMs });
  }
  // An interface has one peer for a block: the gateway that carried it last.
  const moved = new Set(started.flatMap(({ blocks }) => blocks));
  const routes = [...staying.filter(({ blocks }) => !blocks.some((block) => moved.has(block))), ...started];
  if (routes.length === 0 || before === undefined) return notDraining;
  return {
    routes: routes.slice(-mostDraining),
    unmarkedCarriers: known.routes.length === 0 ? carriers(before) : known.unmarkedCarriers,
  };
}

/** @param isCounted which blocks to return. Other blocks still take precedence over the blocks around them */
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
      const format = (bits: bigint) => formatIpAddress({ version: family, bits });
      const [from, to] = [format(first), format(last)];
      const known = ranges.get(value) ?? [];
      known.push(from === to ? from : `${from}-${to}`);
      ranges.set(value, known);
    }
  }
  return ranges;
}

/**
 * Returns the mark of connections that start with a gateway. It depends on the key only, so that old marks stay
 * correct.
 */
export function connectionMark(publicKey: string): number {
  return Number.parseInt(sha256(publicKey).slice(0, 8), 16) || 1;
}

/**
 * Returns the nft script for draining. New TCP connections get the mark of their gateway. Connections with the mark of
 * a draining gateway are routed to that gateway; all others follow the normal routes.
 *
 * @param current the gateway of each address range
 * @param isMoving whether gateways move between the interfaces. Until the move is complete, packets would reach the
 *   wrong gateway, which would reset the connection. They are dropped instead, and TCP sends them again.
 */
export function drainScript(
  table: string,
  { routes, unmarkedCarriers }: Draining,
  current: Carriers,
  packetMark: number,
  isMoving = false,
): string {
  const lines = [`table inet ${table} {}`, `delete table inet ${table}`];
  if (routes.length === 0) return `${lines.join("\n")}\n`;
  lines.push(`table inet ${table} {`);
  /** Adds a set for each family in the ranges. Returns the matches of the destinations in these sets. */
  const destinations = (name: string, ranges: readonly string[]): readonly string[] =>
    (["ip", "ip6"] as const).flatMap((kind) => {
      const elements = ranges.filter((range) => range.includes(":") === (kind === "ip6"));
      if (elements.length === 0) return [];
      const type = kind === "ip" ? "ipv4_addr" : "ipv6_addr";
      const text = elements.join(", ");
      lines.push(`set ${name}-${kind} { type ${type}; flags interval; auto-merge; elements = { ${text} } }`);
      return [`${kind} daddr @${name}-${kind}`];
    });
  const starts = [...current].flatMap(([publicKey, ranges], index) =>
    destinations(`current-${index}`, ranges).map((is) => `${is} ct mark set ${connectionMark(publicKey)} accept`),
  );
  const drains = routes.map(({ publicKey, ranges }, index) => ({
    mark: connectionMark(publicKey),
    to: destinations(`draining-${index}`, ranges),
    from: destinations(`unmarked-${index}`, unmarkedCarriers.get(publicKey) ?? []),
  }));
  const marks = new Set([...[...current.keys()].map(connectionMark), ...drains.map(({ mark }) => mark)]);
  const toDrain = `meta mark set ${packetMark} accept`;
  lines.push(
    ...["chain starts {", ...starts, "accept", "}"],
    ...["chain output {", "type route hook output priority mangle; policy accept;", "meta l4proto != tcp accept"],
    ...(isMoving ? drains.flatMap(({ to }) => to.map((is) => `${is} drop`)) : []),
    "tcp flags & (fin | syn | rst | ack) == syn jump starts",
    ...drains.flatMap(({ mark, to }) => to.map((is) => `${is} ct mark ${mark} ${toDrain}`)),
    `ct mark { ${[...marks].join(", ")} } accept`,
    ...drains.flatMap(({ to, from }) =>
      to.flatMap((is) =>
        from.filter((was) => was.split(" ")[0] === is.split(" ")[0]).map((was) => `${is} ${was} ${toDrain}`),
      ),
    ),
  );
  return `${[...lines, "}", "}"].join("\n")}\n`;
}
