/** Puts the parts of an agent together. */

import { systemClock } from "@gatehouse/agent-core/clock";
import { ResolvedNames } from "@gatehouse/agent-core/dns/resolved-names";
import { askUpstream } from "@gatehouse/agent-core/dns/upstream";
import type { Log } from "@gatehouse/agent-core/log";
import { type ProgramRunner, systemPrograms } from "@gatehouse/agent-core/system/program-runner";
import { WireGuardInterface } from "@gatehouse/agent-core/wireguard/wireguard-interface";
import { Agent } from "./agent.ts";
import { StateFolder } from "./configuration/state-folder.ts";
import { Kernel } from "./enforcement/kernel.ts";
import { DnsServer } from "./names/dns-server.ts";
import { EndpointFollower, EndpointHosts } from "./names/endpoint-hosts.ts";

export interface AgentSettings {
  /** Of the WireGuard interface, as `interfaceNamePattern` has it. */
  readonly interfaceName: string;
  /** An absolute path. */
  readonly stateFolder: string;
  readonly log: Log;
  /** See Carriage. */
  readonly keepsSource: boolean;
  readonly programs?: ProgramRunner;
}

export interface ComposedAgent {
  readonly agent: Agent;
  readonly folder: StateFolder;
  /** Comes before the agent starts. @throws Error where the interface is somebody else's */
  checkInterface(): Promise<void>;
  stop(): Promise<void>;
}

/** Such as `gatehouse0`: at most 15 characters (the kernel), and nothing that a program could take for something else. */
export const interfaceNamePattern = /^[a-z][a-z0-9]{0,14}$/;
const dnsPort = 53;

export function composeAgent({
  interfaceName,
  stateFolder,
  keepsSource,
  log,
  programs = systemPrograms,
}: AgentSettings): ComposedAgent {
  if (!interfaceNamePattern.test(interfaceName)) {
    throw new Error(
      `${JSON.stringify(interfaceName)} cannot be the name of an interface: a letter, then letters and digits, 15 at most.`,
    );
  }
  const folder = new StateFolder(stateFolder);
  const wireGuard = new WireGuardInterface(interfaceName, programs, folder.privateKeyFile);
  const hosts = new EndpointHosts();
  const kernel = new Kernel(wireGuard, programs, hosts);
  const names = new ResolvedNames();
  const agent: Agent = new Agent({
    kernel,
    wireGuard,
    carriage: { interfaceName, keepsSource },
    folder,
    names,
    hosts,
    warnings: (): readonly string[] => (dns.problem === undefined ? [] : [dns.problem]),
    clock: systemClock,
    log,
  });
  const endpoints = new EndpointFollower({ hosts, moved: () => agent.endpointsMoved(), clock: systemClock, log });
  const dns = new DnsServer({
    content: () => agent.content,
    names,
    namesChanged: () => agent.namesChanged(),
    askUpstream,
    clock: systemClock,
    log,
    port: dnsPort,
  });
  agent.onChange((content) => endpoints.follow(content));
  agent.onChange((content) => dns.follow(content));
  return {
    agent,
    folder,
    checkInterface: async () => wireGuard.checkOwn(await folder.publicKey()),
    stop: async () => {
      endpoints.stop();
      dns.stop();
      await agent.stop();
    },
  };
}
