import { printingPrograms } from "@gatehouse/agent-core/system/program-runner";
import { WireGuardInterface } from "@gatehouse/agent-core/wireguard/wireguard-interface";
import type { SignedConfiguration } from "@gatehouse/agent-protocol/gateway/configuration";
import { Kernel } from "./enforcement/kernel.ts";
import { type Carriage, policyPart, withNames } from "./enforcement/traffic-rules.ts";
import { EndpointHosts } from "./names/endpoint-hosts.ts";

/** Writes what would be run on a machine that has nothing yet. Signatures are not asked for: nothing is done. */
export async function dryRun(
  { envelope, content }: SignedConfiguration,
  carriage: Carriage,
  now: number,
  write: (text: string) => void,
): Promise<void> {
  const programs = printingPrograms(write);
  const hosts = new EndpointHosts();
  await hosts.refresh(content);
  const kernel = new Kernel(new WireGuardInterface(carriage.interfaceName, programs, "wireguard.key"), programs, hosts);
  const policy = policyPart(carriage, content, now, envelope.header.expiresAt);
  await kernel.filter(withNames(policy, content, new Map(), (host) => hosts.addressesOf(host)));
  await kernel.tunnel(content);
}
