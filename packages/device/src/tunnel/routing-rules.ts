/** The rules by which the kernel selects a routing table. Priorities identify the rules of the agent. */
import { canonicalAddress } from "@gatehouse/addresses/ip-block";
import type { ProgramRunner } from "@gatehouse/agent-core/system/program-runner";
import { type BypassRoute, everything, type WantedTunnel } from "./wanted-tunnel.ts";

/** The mark of WireGuard's own packets, which must never enter the tunnel. */
export const packetMark = 0x6748;
/** The table of blocks that are routed into the tunnel, and the table of the default route. */
export const tunnelTable = "26440";
export const everythingTable = "26441";

/** The mark of packets for draining gateways, and their two tables. The tables are usually empty. */
export const drainMark = 0x6749;
export const drainTable = "26442";
export const drainEverythingTable = "26443";

/**
 * The order of the rules: bypass routes, blocks of draining gateways, blocks of the tunnel, the machine's own networks,
 * then the default route. A draining internet gateway thus never attracts packets for the machine's own networks.
 */
const priorities = {
  bypass: 5198,
  drain: 5199,
  tunnel: 5200,
  ownNetworks: 5201,
  drainEverything: 5202,
  everything: 5203,
} as const;
const ownPriorities: ReadonlySet<number> = new Set(Object.values(priorities));

/** The port of DHCP servers. DHCP for IPv6 uses link-local addresses only. */
const dhcp = { ipproto: "udp", dport: 67 } as const;

type Family = "-4" | "-6";
const families: readonly Family[] = ["-4", "-6"];

/** A rule in the output of `ip -json rule`. */
interface LiveRule {
  readonly priority: number;
  readonly dst?: string;
  readonly ipproto?: string;
  readonly dport?: number;
  readonly not?: null;
  readonly fwmark?: string;
  readonly suppress_prefixlen?: number;
  readonly table: string;
}

/** Returns the desired rules of a family, in the syntax of `ip rule add` and `ip rule del`. */
export function wantedRules({ routes, bypassRoutes }: WantedTunnel, family: Family): readonly string[] {
  const isOfFamily = (text: string) => text.includes(":") === (family === "-6");
  if (!routes.some(isOfFamily)) return [];
  // A gateway that answers the machine's DHCP client could choose its resolvers and routes.
  const rules = family === "-4" ? [ruleText({ priority: priorities.bypass, ...dhcp, table: "main" })] : [];
  const paths = bypassRoutes
    .filter(({ address }) => isOfFamily(address))
    .map(({ address, protocol, port }: BypassRoute) =>
      ruleText({ priority: priorities.bypass, dst: address, ipproto: protocol, dport: port, table: "main" }),
    );
  rules.push(...paths);
  rules.push(drainRule(priorities.drain, drainTable));
  rules.push(unmarked(priorities.tunnel, tunnelTable));
  if (everything.some((block) => isOfFamily(block) && routes.includes(block))) {
    rules.push(ruleText({ priority: priorities.ownNetworks, suppress_prefixlen: 0, table: "main" }));
    rules.push(drainRule(priorities.drainEverything, drainEverythingTable));
    rules.push(unmarked(priorities.everything, everythingTable));
  }
  return rules;
}

export class RoutingRules {
  readonly #programs: ProgramRunner;

  constructor(programs: ProgramRunner) {
    this.#programs = programs;
  }

  /**
   * Adds new rules before a change of the routes, and deletes old ones afterwards. So no packet takes another path in
   * between, and no route ever captures an address that must stay outside the tunnel.
   */
  async set(wanted: Pick<WantedTunnel, "routes" | "bypassRoutes">, changeRoutes = async () => {}): Promise<void> {
    const removals: (readonly [family: Family, lines: readonly string[]])[] = [];
    for (const family of families) {
      const live = await this.#live(family);
      const rules = wantedRules({ addresses: [], peers: new Map(), ...wanted }, family);
      const added = rules.filter((rule) => !live.includes(rule));
      await this.#change(
        family,
        added.map((rule) => `rule add ${rule}`),
      );
      const removed = live.filter((rule) => !rules.includes(rule));
      removals.push([family, removed.map((rule) => `rule del ${rule}`)]);
    }
    await changeRoutes();
    for (const [family, lines] of removals) await this.#change(family, lines);
  }

  async #change(family: Family, lines: readonly string[]): Promise<void> {
    if (lines.length > 0) await this.#programs.change("ip", [family, "-batch", "-"], `${lines.join("\n")}\n`);
  }

  /** Returns the interfaces in the agent's routing tables. */
  async devices(): Promise<readonly string[]> {
    const names = new Set<string>();
    for (const family of families) {
      for (const table of [tunnelTable, everythingTable, drainTable, drainEverythingTable]) {
        // The command fails for a table without routes.
        const output = await this.#programs
          .read("ip", ["-json", family, "route", "show", "table", table])
          .catch(() => "");
        const routes = output.trim() === "" ? [] : (JSON.parse(output) as { dev?: string }[]); // the JSON output of ip
        for (const { dev } of routes) if (dev !== undefined) names.add(dev);
      }
    }
    return [...names];
  }

  async #live(family: Family): Promise<readonly string[]> {
    const output = await this.#programs.read("ip", ["-json", family, "rule", "show"]);
    const rules = output.trim() === "" ? [] : (JSON.parse(output) as LiveRule[]); // the JSON output of ip
    return rules.filter(({ priority }) => ownPriorities.has(priority)).map(ruleText);
  }
}

function drainRule(priority: number, table: string): string {
  return ruleText({ priority, fwmark: hexadecimal(drainMark), table });
}

function unmarked(priority: number, table: string): string {
  return ruleText({ priority, not: null, fwmark: hexadecimal(packetMark), table });
}

function hexadecimal(mark: number): string {
  return `0x${mark.toString(16)}`;
}

function ruleText(rule: LiveRule): string {
  const { priority, dst, ipproto, dport, not, fwmark, suppress_prefixlen: suppressed, table } = rule;
  return [
    ...(not === undefined ? [] : ["not"]),
    ...(dst === undefined ? [] : ["to", canonicalAddress(dst) ?? dst]),
    ...(ipproto === undefined ? [] : ["ipproto", ipproto]),
    ...(dport === undefined ? [] : ["dport", String(dport)]),
    ...(fwmark === undefined ? [] : ["fwmark", fwmark]),
    "lookup",
    table,
    ...(suppressed === undefined ? [] : ["suppress_prefixlength", String(suppressed)]),
    "priority",
    String(priority),
  ].join(" ");
}
