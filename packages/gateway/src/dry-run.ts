import { systemClock } from "@gatehouse/agent-core/clock";
import { HostResolver } from "@gatehouse/agent-core/dns/host-resolver";
import { printingPrograms } from "@gatehouse/agent-core/system/program-runner";
import { WireGuardInterface } from "@gatehouse/agent-core/wireguard/wireguard-interface";
import type { SignedConfiguration } from "@gatehouse/agent-protocol/gateway/configuration";
import type { ForwardingSettings } from "./enforcement/base-chains.ts";
import { Kernel } from "./enforcement/kernel.ts";
import { policyPart, withNames } from "./enforcement/traffic-rules.ts";
import { EndpointHosts } from "./names/endpoint-hosts.ts";

/**
 * Prints the commands that would run on a machine without a tunnel. Does not verify signatures, because nothing is
 * applied.
 */
export async function dryRun(
  { envelope, content }: SignedConfiguration,
  forwarding: ForwardingSettings,
  now: number,
  write: (text: string) => void,
): Promise<void> {
  const programs = printingPrograms(write);
  const hosts = new EndpointHosts(new HostResolver(systemClock));
  await hosts.refresh(content);
  const kernel = new Kernel(
    new WireGuardInterface(forwarding.interfaceName, programs, "wireguard.key"),
    programs,
    hosts,
    undefined,
    () => Promise.resolve(undefined),
  );
  const policy = policyPart(forwarding, content, now, envelope.header.expiresAt);
  await kernel.filter(withNames(policy, content, new Map(), (host) => hosts.addressesOf(host)));
  await kernel.tunnel(content);
}
