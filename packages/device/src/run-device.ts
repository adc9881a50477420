/** Puts the parts of a device's agent together, and runs it. */
import { isIP } from "node:net";
import { type Clock, systemClock } from "@gatehouse/agent-core/clock";
import { ResolvedNames } from "@gatehouse/agent-core/dns/resolved-names";
import { askUpstream, passOn } from "@gatehouse/agent-core/dns/upstream";
import { type Log, lineLog } from "@gatehouse/agent-core/log";
import { checkRights } from "@gatehouse/agent-core/state/private-file";
import { takeFolder } from "@gatehouse/agent-core/state/running-once";
import { type ProgramRunner, printingPrograms, systemPrograms } from "@gatehouse/agent-core/system/program-runner";
import { WireGuardInterface } from "@gatehouse/agent-core/wireguard/wireguard-interface";
import { isDeviceConfiguration } from "./configuration/check-device-configuration.ts";
import { DeviceFolder, type Enrolment } from "./configuration/device-folder.ts";
import { DeviceAgent } from "./device-agent.ts";
import { HostAddresses, hostAndPort } from "./host-addresses.ts";
import { DeviceLink } from "./link/device-link.ts";
import { DeviceDns } from "./names/device-dns.ts";
import { MachineResolvers } from "./names/machine-resolvers.ts";
import { ResolverSetting } from "./names/resolver-setting.ts";
import { LeavingTunnel } from "./tunnel/leaving-tunnel.ts";
import { Tunnel } from "./tunnel/tunnel.ts";
import { wantedTunnel } from "./tunnel/wanted-tunnel.ts";

/** Where names are answered. */
export interface DnsPlace {
  readonly address: string;
  readonly port: number;
}

export interface DeviceSettings {
  readonly interfaceName: string;
  /** An absolute path. */
  readonly stateFolder: string;
  /** Undefined: names are not answered. */
  readonly dns: DnsPlace | undefined;
  /** Writes one line of the log, with its line feed. */
  readonly writeLog: (line: string) => void;
  readonly agentVersion: string;
  readonly programs?: ProgramRunner;
  readonly clock?: Clock;
}

/** A device that is enrolled wholly. */
export type EnrolledDevice = Enrolment & { readonly token: string };

/** @returns `address` or `address:port` as a place, IPv6 in brackets where a port follows; undefined where it is none */
export function dnsPlace(text: string): DnsPlace | undefined {
  if (isIP(text) !== 0) return { address: text, port: 53 };
  const { host: address, port } = hostAndPort(text);
  return isIP(address) !== 0 && port >= 1 && port <= 65_535 ? { address, port } : undefined;
}

/**
 * Runs until it is told to stop, and takes the tunnel away then.
 *
 * @throws Error where it cannot start; nothing is left then
 */
export async function runDevice(
  enrolled: EnrolledDevice,
  settings: DeviceSettings,
  stopped: AbortSignal,
): Promise<void> {
  const { writeLog, agentVersion, clock = systemClock, programs = systemPrograms } = settings;
  const { interfaceName, stateFolder, dns: place } = settings;
  const { url, device } = enrolled;
  const log = lineLog(writeLog);
  const folder = new DeviceFolder(stateFolder);
  const publicKey = await folder.publicKey();
  await checkRights(stateFolder, folder.privateKeyFile);
  const giveBack = await takeFolder(stateFolder);
  const wireGuard = new WireGuardInterface(interfaceName, programs, folder.privateKeyFile);
  const tunnel = new Tunnel(wireGuard, programs);
  const names = new ResolvedNames();
  const hosts = new HostAddresses(clock);
  const second = new WireGuardInterface(leavingInterface(interfaceName), programs, folder.privateKeyFile);
  const leaving = new LeavingTunnel(second, programs);
  // Before anything is touched: what is somebody else's stays.
  try {
    for (const each of [wireGuard, second]) await each.checkOwn(publicKey);
    await tunnel.checkRoutes(second.name);
  } catch (error) {
    giveBack();
    throw error;
  }
  const agent = new DeviceAgent({ device, url, tunnel, leaving, folder, names, hosts, clock, log });
  const dns = place === undefined ? undefined : answeringAt(place, { agent, folder, names, clock, log });
  let link: DeviceLink | undefined;
  try {
    if (dns !== undefined && place !== undefined) {
      await listenAt(place, dns.server);
      const resolver = new ResolverSetting({ programs, interfaceName, server: placeText(place), log });
      agent.onChange((configuration) => resolver.follow(configuration));
    }
    await agent.start();
    link = new DeviceLink({
      url,
      token: () => Promise.resolve(enrolled.token),
      device,
      agent,
      state: { trust: agent.pinned, used: agent.signed },
      publicKey,
      agentVersion,
      clock,
      log,
    });
    const toTell = link;
    agent.onChange((configuration) => {
      if (configuration === undefined) toTell.expired();
    });
    if (!stopped.aborted) link.start();
    await untilAborted(stopped);
  } finally {
    link?.stop();
    dns?.stop();
    await agent.stop();
    giveBack();
  }
}

/** Writes what would be run for the kept configuration, on a machine that has nothing of it yet. @returns false where none is kept */
export async function printDryRun(
  { interfaceName, stateFolder }: Pick<DeviceSettings, "interfaceName" | "stateFolder">,
  write: (text: string) => void,
): Promise<boolean> {
  const folder = new DeviceFolder(stateFolder);
  const kept = await folder.configuration();
  if (kept === undefined || !isDeviceConfiguration(kept.content)) return false;
  const programs = printingPrograms(write);
  const tunnel = new Tunnel(new WireGuardInterface(interfaceName, programs, folder.privateKeyFile), programs, () =>
    Promise.resolve(true),
  );
  const wayTo = ({ endpoint, relays }: { readonly endpoint?: string; readonly relays: readonly string[] }) =>
    endpoint ?? relays[0];
  await tunnel.bring(wantedTunnel(kept.content, { named: new Map(), wayTo, controlPlane: [] }));
  return true;
}

interface DnsParts {
  readonly agent: DeviceAgent;
  readonly folder: DeviceFolder;
  readonly names: ResolvedNames;
  readonly clock: Clock;
  readonly log: Log;
}

/** Characters that the kernel takes. */
const longestInterfaceName = 15;

/** Names are asked again so often where their time is over, in milliseconds. */
const refreshMs = 5_000;

function answeringAt(place: DnsPlace, { agent, folder, names, clock, log }: DnsParts) {
  const resolvers = new MachineResolvers(place.address, folder);
  const server = new DeviceDns({
    configuration: () => agent.configuration,
    outsideHosts: () => agent.outsideHosts,
    names,
    namesChanged: () => agent.namesChanged(),
    askGateway: askUpstream,
    passOn,
    machineResolvers: () => resolvers.now(),
    clock,
    log,
  });
  let cancel: (() => void) | undefined;
  const refreshLater = () => {
    cancel = clock.after(refreshMs, () => {
      server
        .refresh()
        .catch((error: unknown) => log(`Names could not be kept fresh: ${String(error)}`))
        .finally(() => {
          if (cancel !== undefined) refreshLater();
        });
    });
  };
  refreshLater();
  const stop = () => {
    cancel?.();
    cancel = undefined;
    server.stop();
  };
  return { server, stop };
}

/** @throws Error where the place cannot be had, with what to do */
async function listenAt(place: DnsPlace, server: DeviceDns): Promise<void> {
  try {
    await server.listen(place.address, place.port);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(
      `Names cannot be answered at ${placeText(place)}: ${reason}. Choose another place with --dns, or --dns off.`,
    );
  }
}

/** Beside the first one, with a name that the kernel takes too. */
function leavingInterface(name: string): string {
  return name.length < longestInterfaceName ? `${name}d` : `${name.slice(0, -1)}${name.endsWith("d") ? "e" : "d"}`;
}

function placeText({ address, port }: DnsPlace): string {
  if (port === 53) return address;
  return address.includes(":") ? `[${address}]:${port}` : `${address}:${port}`;
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
