/** Composes the answers to `gatehouse device status` and `gatehouse device check`. */
import { lookup } from "node:dns/promises";
import type { Clock } from "@gatehouse/agent-core/clock";
import { measureRoundTrip } from "@gatehouse/agent-core/dns/round-trip";
import type { Log } from "@gatehouse/agent-core/log";
import type { ProgramRunner } from "@gatehouse/agent-core/system/program-runner";
import { connectTarget } from "../check/connect-target.ts";
import { DeviceCheck, type DeviceCheckParts } from "../check/device-check.ts";
import { interfaceTo } from "../check/kernel-route.ts";
import type { Enrolment } from "../configuration/device-folder.ts";
import type { DeviceAgent } from "../device-agent.ts";
import type { DeviceLink } from "../link/device-link.ts";
import type { DeviceDns } from "../names/device-dns.ts";
import { serveAgentSocket } from "./agent-socket.ts";
import { GatewayPings } from "./gateway-pings.ts";
import type { LastError } from "./last-error.ts";
import { readStatus } from "./read-status.ts";

/** How long the resolver of the machine may take. */
const lookUpMs = 3_000;

export interface ServedParts {
  readonly enrolment: Enrolment;
  readonly stateFolder: string;
  readonly interfaceName: string;
  readonly agent: DeviceAgent;
  readonly link: Pick<DeviceLink, "ask" | "isOpen" | "rejection">;
  readonly dns: DeviceDns | undefined;
  readonly dnsAddress: string | undefined;
  readonly lastError: LastError;
  readonly programs: ProgramRunner;
  readonly clock: Clock;
  readonly log: Log;
}

/** @returns stops answering */
export function serveStatus(parts: ServedParts): Promise<() => void> {
  const { enrolment, stateFolder, interfaceName, agent, link, dns, dnsAddress, lastError, programs, clock, log } =
    parts;
  const pings = new GatewayPings();
  const isLinked = () => link.isOpen;
  const checked: DeviceCheckParts = {
    user: enrolment.user,
    interfaceName,
    configuration: () => agent.configuration,
    gatewayStates: () => agent.gatewayStates(),
    namesOf: (address) => agent.namesOf(address),
    rejection: () => link.rejection,
    ask: (to) => link.ask(to),
    dns,
    dnsAddress,
    lookUp: (name) => Promise.race([lookUpAddresses(name), noneInTime(clock)]),
    routeTo: (address) => interfaceTo(address, programs),
    roundTrip: measureRoundTrip,
    connect: connectTarget,
    clock,
  };
  const questions = {
    status: () => readStatus({ enrolment, agent, isLinked, pings, lastError, clock }),
    check: (to: string, port: number | undefined) => new DeviceCheck(checked, to, port).run(),
  };
  return serveAgentSocket(stateFolder, questions, log);
}

/** Resolves a name like the programs of this machine. */
async function lookUpAddresses(name: string): Promise<readonly string[]> {
  return (await lookup(name, { all: true })).map(({ address }) => address);
}

function noneInTime(clock: Clock): Promise<readonly string[]> {
  return new Promise((resolve) => clock.after(lookUpMs, () => resolve([])));
}
