import type { DeviceRule, Settings, SiteRule, TimeWindows } from "@gatehouse/agent-protocol/gateway/configuration";
import type { PlanStep } from "./access-plan.ts";
import type { GatewayLink } from "./links.ts";

/** The classes and the time windows for which a step applies. */
export interface ActionScope {
  readonly keys: readonly string[];
  readonly when: true | TimeWindows;
}

/** A step of a plan, with its scope at gateways that may carry the traffic (`allow`) and at all others (`deny`). */
export interface TimedStep {
  readonly step: PlanStep;
  readonly allow: ActionScope;
  readonly deny: ActionScope;
}

/** The steps as rules of one gateway. */
export function deviceRules(steps: readonly TimedStep[], gatewayId: string): DeviceRule[] {
  const rules: DeviceRule[] = [];
  for (const timed of steps) {
    const action = timed.step.gateways.includes(gatewayId) ? "allow" : "deny";
    const { keys, when } = timed[action];
    if (keys.length === 0 || (when !== true && when.length === 0)) continue;
    const last = rules.at(-1);
    // Merge neighbors with the same action: their order has no effect.
    if (when === true && last !== undefined && last.action === action && last.windows === undefined) {
      rules[rules.length - 1] = { action, classes: [...new Set([...last.classes, ...keys])] };
    } else rules.push({ action, classes: [...keys], ...(when === true ? {} : { windows: when }) });
  }
  return withoutLastDenials(rules);
}

export function siteRules(steps: readonly TimedStep[], gatewayId: string): SiteRule[] {
  const rules = steps.flatMap((timed): SiteRule[] => {
    const action = timed.step.gateways.includes(gatewayId) ? "allow" : "deny";
    const { when } = timed[action];
    if (when !== true && when.length === 0) return [];
    const sources = timed.step.policy.facts.sourceIps.map(asBlock);
    return [{ action, sources, ...(when === true ? {} : { windows: when }) }];
  });
  return withoutLastDenials(rules);
}

function asBlock(text: string): string {
  if (text.includes("/")) return text;
  return `${text}/${text.includes(":") ? 128 : 32}`;
}

/** Whether a gateway relays traffic for another gateway. A relay cannot relay on its own listen port. */
export function relaysFor(relay: GatewayLink, { gatewayId, relayPort, endpoint }: GatewayLink): boolean {
  const isOther = relay.gatewayId !== gatewayId && relay.listenPort !== relayPort;
  return relay.relayEnabled && isOther && relayPort !== null && endpoint !== null;
}

/** Removes denials at the end, because unmatched traffic is dropped anyway. */
function withoutLastDenials<Rule extends { readonly action: "allow" | "deny" }>(rules: Rule[]): Rule[] {
  return rules.slice(0, rules.findLastIndex(({ action }) => action === "allow") + 1);
}

/** Whether an administrator set networks. An empty list only ends traffic between sites. */
export function hasNetworks({ networks }: GatewayLink): boolean {
  return networks !== null && networks.length > 0;
}

/** @param relayed the gateways for which others relay traffic */
export function settingsOf(
  link: GatewayLink,
  pools: readonly string[],
  internet: Settings["internet"],
  relayed: readonly GatewayLink[],
): Settings {
  const { resolvers, domains } = link.dns;
  const targets = relayed.flatMap((target) => {
    const { relayPort, endpoint } = target;
    return relayPort === null || endpoint === null || !relaysFor(link, target)
      ? []
      : [{ listenPort: relayPort, endpoint }];
  });
  return {
    interface: { listenPort: link.listenPort, ipv4: link.ipv4, ipv6: link.ipv6, pools: [...pools] },
    dns: {
      resolvers: [...resolvers],
      domains: domains.map(({ domain, resolvers: own }) => ({ domain, resolvers: [...own] })),
      ...(hasNetworks(link) ? { networks: [...(link.networks ?? [])] } : {}),
    },
    ...(internet === undefined ? {} : { internet }),
    ...(link.relayEnabled ? { relay: targets.sort((a, b) => a.listenPort - b.listenPort) } : {}),
    ...(link.drain === null ? {} : { drain: { since: link.drain.since, until: link.drain.until } }),
  };
}
