/** Composes a device's agent and runs it. */
import { isIP } from "node:net";
import { type Clock, systemClock } from "@gatehouse/agent-core/clock";
import { HostResolver, hostAndPort } from "@gatehouse/agent-core/dns/host-resolver";
import { ResolvedNames } from "@gatehouse/agent-core/dns/resolved-names";
import { askUpstream, forwardQuestion } from "@gatehouse/agent-core/dns/upstream";
import { type Log, lineLog } from "@gatehouse/agent-core/log";
import { lockFolder } from "@gatehouse/agent-core/state/folder-lock";
import { checkRights } from "@gatehouse/agent-core/state/private-file";
import { type ProgramRunner, printingPrograms, systemPrograms } from "@gatehouse/agent-core/system/program-runner";
import { ServiceManager } from "@gatehouse/agent-core/system/service-manager";
import { WireGuardInterface } from "@gatehouse/agent-core/wireguard/wireguard-interface";
import { DeviceFolder, type Enrolment } from "./configuration/device-folder.ts";
import { isDeviceConfiguration } from "./configuration/validate-device-configuration.ts";
import { DeviceAgent } from "./device-agent.ts";
import { DeviceLink } from "./link/device-link.ts";
import { DeviceDns } from "./names/device-dns.ts";
import { MachineResolvers, noMemory } from "./names/machine-resolvers.ts";
import { ResolverSetting } from "./names/resolver-setting.ts";
import { notifyDesktops } from "./session/desktop-notifier.ts";
import { type SessionNotice, SessionWatch } from "./session/session-watch.ts";
import { LastError } from "./status/last-error.ts";
import { serveStatus } from "./status/serve-status.ts";
import { DrainTunnel } from "./tunnel/drain-tunnel.ts";
import { localNetworkReader, unknownNetwork } from "./tunnel/local-network.ts";
import { Tunnel } from "./tunnel/tunnel.ts";
import { wantedTunnel } from "./tunnel/wanted-tunnel.ts";

/** The address and port of the agent's DNS server. */
export interface DnsAddress {
  readonly address: string;
  readonly port: number;
}

export interface DeviceSettings {
  readonly interfaceName: string;
  /** An absolute path. */
  readonly stateFolder: string;
  /** Undefined: the agent does not serve DNS. */
  readonly dns: DnsAddress | undefined;
  /** Writes one line of the log, with its line feed. */
  readonly writeLog: (line: string) => void;
  readonly agentVersion: string;
  readonly programs?: ProgramRunner;
  readonly clock?: Clock;
}

/** A device with completed enrolment. */
export type EnrolledDevice = Enrolment & { readonly token: string };

/** Parses `address` or `address:port`, IPv6 in brackets before a port. @returns undefined if the text is neither */
export function parseDnsAddress(text: string): DnsAddress | undefined {
  if (isIP(text) !== 0) return { address: text, port: 53 };
  const { host: address, port } = hostAndPort(text);
  return isIP(address) !== 0 && port >= 1 && port <= 65_535 ? { address, port } : undefined;
}

/**
 * Runs the agent until the signal aborts, then removes the tunnel.
 *
 * @throws Error if the agent cannot start. Nothing is left behind then
 */
export async function runDevice(
  enrolled: EnrolledDevice,
  settings: DeviceSettings,
  stopped: AbortSignal,
): Promise<void> {
  const { writeLog, agentVersion, clock = systemClock, programs = systemPrograms } = settings;
  const { interfaceName, stateFolder, dns: place } = settings;
  const { url, device } = enrolled;
  const lines = lineLog(writeLog);
  const lastError = new LastError();
  const log = lastError.watching(lines, () => clock.now());
  const folder = new DeviceFolder(stateFolder);
  const keys = await folder.keys();
  const { publicKey } = keys;
  await checkRights(stateFolder, folder.privateKeyFile);
  const releaseFolder = await lockFolder(stateFolder);
  const wireGuard = new WireGuardInterface(interfaceName, programs, folder.privateKeyFile);
  // A repair is not a failure: it does not replace the last error.
  const tunnel = new Tunnel(wireGuard, programs, { log: lines });
  const names = new ResolvedNames();
  const hosts = new HostResolver(clock);
  const drainInterface = new WireGuardInterface(drainInterfaceName(interfaceName), programs, folder.privateKeyFile);
  const drainTunnel = new DrainTunnel(drainInterface, programs);
  // These checks come before any change: interfaces of other programs must stay.
  try {
    for (const each of [wireGuard, drainInterface]) await each.checkOwn(publicKey, keys.formerKeys);
    await tunnel.checkRoutes(drainInterface.name);
  } catch (error) {
    releaseFolder();
    throw error;
  }
  let link: DeviceLink | undefined;
  const isLinked = () => link?.isOpen === true;
  const resolvers = new MachineResolvers(place?.address ?? "", place === undefined ? noMemory : folder);
  const localNetwork = localNetworkReader(programs, () => resolvers.all());
  const agent = new DeviceAgent({
    device,
    url,
    tunnel,
    drainTunnel,
    folder,
    names,
    hosts,
    localNetwork,
    isLinked,
    clock,
    log,
  });
  const dns = place === undefined ? undefined : serveDns({ agent, resolvers, names, clock, log });
  const service = new ServiceManager({ environment: process.env, pid: process.pid, clock, log });
  const { PATH: path = "/usr/sbin:/usr/bin:/sbin:/bin" } = process.env;
  const notify = (notice: SessionNotice) => notifyDesktops(notice, { path, ownUid: process.getuid?.() ?? -1 });
  // Warnings are not failures: they do not replace the last error.
  const session = new SessionWatch({ notify, clock, log: lines });
  agent.onChange((configuration) => session.follow(configuration));
  let stopStatus: (() => void) | undefined;
  try {
    if (dns !== undefined && place !== undefined) {
      await listen(place, dns.server);
      const resolver = new ResolverSetting({ programs, interfaceName, server: formatDnsAddress(place), log });
      agent.onChange((configuration) => resolver.follow(configuration));
    }
    await agent.start();
    link = new DeviceLink({
      url,
      token: () => Promise.resolve(enrolled.token),
      device,
      agent,
      state: { trust: agent.pinned, used: agent.signed },
      keys,
      agentVersion,
      clock,
      log,
    });
    const opened = link;
    agent.onChange((configuration) => {
      if (configuration === undefined) opened.expired();
    });
    if (!stopped.aborted) link.start();
    stopStatus = await serveStatus({
      enrolment: enrolled,
      stateFolder,
      interfaceName,
      agent,
      link,
      dns: dns?.server,
      dnsAddress: place === undefined ? undefined : formatDnsAddress(place),
      lastError,
      programs,
      clock,
      log,
    });
    await service.ready(() => agent.performed());
    await untilAborted(stopped);
  } finally {
    stopStatus?.();
    session.stop();
    await service.stop();
    link?.stop();
    dns?.stop();
    await agent.stop();
    releaseFolder();
  }
}

/** Prints the commands for the stored configuration on a machine without a tunnel. @returns false if none is stored */
export async function printDryRun(
  { interfaceName, stateFolder }: Pick<DeviceSettings, "interfaceName" | "stateFolder">,
  write: (text: string) => void,
): Promise<boolean> {
  const folder = new DeviceFolder(stateFolder);
  const stored = await folder.configuration();
  if (stored === undefined || !isDeviceConfiguration(stored.content)) return false;
  const programs = printingPrograms(write);
  const tunnel = new Tunnel(new WireGuardInterface(interfaceName, programs, folder.privateKeyFile), programs, {
    hasIpv6: () => Promise.resolve(true),
  });
  const pathTo = ({ endpoint, relays }: { readonly endpoint?: string; readonly relays: readonly string[] }) =>
    endpoint ?? relays[0];
  await tunnel.apply(
    wantedTunnel(stored.content, { named: new Map(), pathTo, controlPlane: [], local: unknownNetwork }),
  );
  return true;
}

interface DnsParts {
  readonly agent: DeviceAgent;
  readonly resolvers: MachineResolvers;
  readonly names: ResolvedNames;
  readonly clock: Clock;
  readonly log: Log;
}

/** The kernel's limit, in characters. */
const longestInterfaceName = 15;

/** The interval at which expired names are resolved again. */
const refreshMs = 5_000;

function serveDns({ agent, resolvers, names, clock, log }: DnsParts) {
  const server = new DeviceDns({
    configuration: () => agent.configuration,
    bypassHosts: () => agent.bypassHosts,
    isClosed: (address) => agent.isClosedToNames(address),
    names,
    namesChanged: () => agent.namesChanged(),
    askGateway: askUpstream,
    forward: forwardQuestion,
    machineResolvers: async () => {
      const current = await resolvers.now();
      await agent.useResolvers(current);
      return current;
    },
    clock,
    log,
  });
  let cancel: (() => void) | undefined;
  const scheduleRefresh = () => {
    cancel = clock.after(refreshMs, () => {
      server
        .refresh()
        .catch((err: unknown) => log("failed to refresh names; will retry", { err }))
        .finally(() => {
          if (cancel !== undefined) scheduleRefresh();
        });
    });
  };
  scheduleRefresh();
  const stop = () => {
    cancel?.();
    cancel = undefined;
    server.stop();
  };
  return { server, stop };
}

/** @throws Error if the address cannot be used, with a remedy */
async function listen(place: DnsAddress, server: DeviceDns): Promise<void> {
  try {
    await server.listen(place.address, place.port);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(
      `The agent cannot serve DNS at ${formatDnsAddress(place)}: ${reason}. Choose another address with --dns, or use --dns off.`,
    );
  }
}

/** Returns the name of the second interface, within the kernel's limit. */
function drainInterfaceName(name: string): string {
  return name.length < longestInterfaceName ? `${name}d` : `${name.slice(0, -1)}${name.endsWith("d") ? "e" : "d"}`;
}

function formatDnsAddress({ address, port }: DnsAddress): string {
  if (port === 53) return address;
  return address.includes(":") ? `[${address}]:${port}` : `${address}:${port}`;
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
