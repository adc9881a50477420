/** Composes an agent. */

import { join } from "node:path";
import { systemClock } from "@gatehouse/agent-core/clock";
import { HostResolver } from "@gatehouse/agent-core/dns/host-resolver";
import { askUpstream } from "@gatehouse/agent-core/dns/upstream";
import type { Log } from "@gatehouse/agent-core/log";
import { RuntimeFolder } from "@gatehouse/agent-core/state/runtime-folder";
import { type ProgramRunner, systemPrograms } from "@gatehouse/agent-core/system/program-runner";
import { WireGuardInterface } from "@gatehouse/agent-core/wireguard/wireguard-interface";
import { Agent } from "./agent.ts";
import { RuntimeCopy } from "./configuration/runtime-copy.ts";
import { StateFolder } from "./configuration/state-folder.ts";
import { DeviceRoute } from "./enforcement/device-route.ts";
import { Kernel } from "./enforcement/kernel.ts";
import { AnswerFilter, machineAddresses } from "./names/answer-filter.ts";
import { DnsServer } from "./names/dns-server.ts";
import { EndpointFollower, EndpointHosts } from "./names/endpoint-hosts.ts";
import { LearnedNames } from "./names/learned-names.ts";

export interface AgentSettings {
  /** The name of the WireGuard interface, which matches `interfaceNamePattern`. */
  readonly interfaceName: string;
  /** An absolute path. */
  readonly stateFolder: string;
  /** An absolute path on a file system in memory. It may serve several agents with different interfaces. */
  readonly runtimeFolder: string;
  readonly log: Log;
  /** Whether devices keep their tunnel addresses at the site: see `ForwardingSettings`. */
  readonly keepsSource: boolean;
  /** The control plane. Names never open its addresses. */
  readonly controlPlaneUrl?: string | undefined;
  readonly programs?: ProgramRunner;
}

export interface ComposedAgent {
  readonly agent: Agent;
  readonly folder: StateFolder;
  /** Must be called before the agent starts. @throws Error if the interface or its route belongs to another program */
  checkInterface(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Names such as `gatehouse0`: at most 15 characters, the kernel's limit, and none that another program could misread.
 */
export const interfaceNamePattern = /^[a-z][a-z0-9]{0,14}$/;
const dnsPort = 53;

export function composeAgent({
  interfaceName,
  stateFolder,
  runtimeFolder,
  keepsSource,
  log,
  controlPlaneUrl,
  programs = systemPrograms,
}: AgentSettings): ComposedAgent {
  if (!interfaceNamePattern.test(interfaceName)) {
    throw new Error(
      `${JSON.stringify(interfaceName)} is not an interface name. Use a letter, then letters and digits, at most 15.`,
    );
  }
  const folder = new StateFolder(stateFolder);
  const wireGuard = new WireGuardInterface(interfaceName, programs, folder.privateKeyFile);
  const hosts = new EndpointHosts(new HostResolver(systemClock));
  const kernel = new Kernel(wireGuard, programs, hosts);
  const names = new LearnedNames();
  const controlPlane = new ControlPlaneAddresses(controlPlaneUrl);
  const filter = new AnswerFilter({ own: machineAddresses, controlPlane: () => controlPlane.current() });
  const agent: Agent = new Agent({
    kernel,
    wireGuard,
    forwarding: { interfaceName, keepsSource },
    folder,
    copy: new RuntimeCopy(new RuntimeFolder(join(runtimeFolder, interfaceName), () => agent.performed())),
    names,
    filter,
    hosts,
    warnings: (): readonly string[] => (dns.problem === undefined ? [] : [dns.problem]),
    clock: systemClock,
    log,
  });
  const endpoints = new EndpointFollower({ hosts, moved: () => agent.endpointsMoved(), clock: systemClock, log });
  const dns = new DnsServer({
    content: () => agent.content,
    hasIpv6: () => kernel.hasIpv6,
    names,
    filter,
    usedAddresses: () => kernel.usedNames(),
    namesChanged: () => agent.namesChanged(),
    // An answer is compared with the control plane's addresses of the time of the answer.
    askUpstream: async (question, resolvers) => {
      const [answer] = await Promise.all([askUpstream(question, resolvers), controlPlane.refresh()]);
      return answer;
    },
    clock: systemClock,
    log,
    port: dnsPort,
  });
  agent.onChange((content) => endpoints.follow(content));
  agent.onChange((content) => dns.follow(content));
  return {
    agent,
    folder,
    checkInterface: async () => {
      const { publicKey, formerKeys } = await folder.keys();
      await wireGuard.checkOwn(publicKey, formerKeys);
      await new DeviceRoute(interfaceName, programs).checkFree();
    },
    stop: async () => {
      endpoints.stop();
      dns.stop();
      await agent.stop();
    },
  };
}

/** The addresses of the control plane's host. */
class ControlPlaneAddresses {
  readonly #host: string | undefined;
  readonly #resolver = new HostResolver(systemClock);

  constructor(url: string | undefined) {
    // The host of an IPv6 address is in brackets.
    this.#host = url === undefined ? undefined : new URL(url).hostname.replace(/^\[|\]$/g, "");
  }

  current(): readonly string[] {
    return this.#host === undefined ? [] : this.#resolver.cached(this.#host);
  }

  async refresh(): Promise<void> {
    if (this.#host !== undefined) await this.#resolver.resolve(this.#host);
  }
}
