/** The rules by which the kernel picks a table of routes; those of the agent are told from others' by their priorities. */
import type { ProgramRunner } from "@gatehouse/agent-core/system/program-runner";
import { everything, type Outside, plainAddress, type WantedTunnel } from "./wanted-tunnel.ts";

/** WireGuard's own packets carry it, and never go into the tunnel. */
export const packetMark = 0x6748;
/** The table of what is sent into the tunnel, and the one of all that has no closer way. */
export const tunnelTable = "26440";
export const everythingTable = "26441";

/** Packets of connections that finish at a gateway which is leaving, and the two tables of them: mostly empty. */
export const leavingMark = 0x6749;
export const leavingTable = "26442";
export const leavingEverythingTable = "26443";

/**
 * In their order: what never goes into a tunnel, blocks of gateways that leave, blocks of the tunnel, networks of the machine's own, and all else. A
 * gateway of the internet that leaves thus draws nothing to it that was on the machine's own networks.
 */
const priorities = {
  outside: 5198,
  leaving: 5199,
  tunnel: 5200,
  closer: 5201,
  leavingEverything: 5202,
  everything: 5203,
} as const;
const ownPriorities: ReadonlySet<number> = new Set(Object.values(priorities));

type Family = "-4" | "-6";
const families: readonly Family[] = ["-4", "-6"];

/** A rule as `ip` tells of it. */
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

/** What is wanted, for `ip rule add` and `del`, by family. */
export function wantedRules({ routes, outside }: WantedTunnel, family: Family): readonly string[] {
  const isOfFamily = (text: string) => text.includes(":") === (family === "-6");
  if (!routes.some(isOfFamily)) return [];
  const rules = outside
    .filter(({ address }) => isOfFamily(address))
    .map(({ address, protocol, port }: Outside) =>
      ruleText({ priority: priorities.outside, dst: address, ipproto: protocol, dport: port, table: "main" }),
    );
  rules.push(ofLeaving(priorities.leaving, leavingTable));
  rules.push(unmarked(priorities.tunnel, tunnelTable));
  if (everything.some((block) => isOfFamily(block) && routes.includes(block))) {
    rules.push(ruleText({ priority: priorities.closer, suppress_prefixlen: 0, table: "main" }));
    rules.push(ofLeaving(priorities.leavingEverything, leavingEverythingTable));
    rules.push(unmarked(priorities.everything, everythingTable));
  }
  return rules;
}

export class RoutingRules {
  readonly #programs: ProgramRunner;

  constructor(programs: ProgramRunner) {
    this.#programs = programs;
  }

  /** New ones first: nothing that goes into the tunnel goes elsewhere in between. */
  async set(wanted: Pick<WantedTunnel, "routes" | "outside">): Promise<void> {
    for (const family of families) {
      const live = await this.#live(family);
      const rules = wantedRules({ addresses: [], peers: new Map(), ...wanted }, family);
      const lines = [
        ...rules.filter((rule) => !live.includes(rule)).map((rule) => `rule add ${rule}`),
        ...live.filter((rule) => !rules.includes(rule)).map((rule) => `rule del ${rule}`),
      ];
      if (lines.length > 0) await this.#programs.change("ip", [family, "-batch", "-"], `${lines.join("\n")}\n`);
    }
  }

  /** Interfaces to which the agent's own tables lead. */
  async devices(): Promise<readonly string[]> {
    const names = new Set<string>();
    for (const family of families) {
      for (const table of [tunnelTable, everythingTable, leavingTable, leavingEverythingTable]) {
        // A table without a route is none.
        const output = await this.#programs
          .read("ip", ["-json", family, "route", "show", "table", table])
          .catch(() => "");
        const routes = output.trim() === "" ? [] : (JSON.parse(output) as { dev?: string }[]); // of ip's own form
        for (const { dev } of routes) if (dev !== undefined) names.add(dev);
      }
    }
    return [...names];
  }

  async #live(family: Family): Promise<readonly string[]> {
    const output = await this.#programs.read("ip", ["-json", family, "rule", "show"]);
    const rules = output.trim() === "" ? [] : (JSON.parse(output) as LiveRule[]); // of ip's own form
    return rules.filter(({ priority }) => ownPriorities.has(priority)).map(ruleText);
  }
}

function ofLeaving(priority: number, table: string): string {
  return ruleText({ priority, fwmark: hexadecimal(leavingMark), table });
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
    ...(dst === undefined ? [] : ["to", plainAddress(dst) ?? dst]),
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
