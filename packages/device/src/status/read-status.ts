import type { Clock } from "@gatehouse/agent-core/clock";
import type { DeviceConfiguration } from "@gatehouse/contract/records/device-configuration";
import type { Enrolment } from "../configuration/device-folder.ts";
import type { DeviceAgent } from "../device-agent.ts";
import { hasSessionEnded, warningMs } from "../session/session-end.ts";
import { type DeviceStatus, gatewayStatus, mostListed, type SessionStatus } from "./device-status.ts";
import type { GatewayPings } from "./gateway-pings.ts";
import type { LastError } from "./last-error.ts";

export interface StatusParts {
  readonly enrolment: Pick<Enrolment, "device" | "name" | "user" | "url">;
  readonly agent: Pick<DeviceAgent, "configuration" | "signed" | "gatewayStates">;
  /** Whether the control plane has admitted the agent. */
  readonly isLinked: () => boolean;
  readonly pings: Pick<GatewayPings, "of">;
  readonly lastError: Pick<LastError, "last">;
  readonly clock: Clock;
}

export async function readStatus(parts: StatusParts): Promise<DeviceStatus> {
  const { enrolment, agent, isLinked, pings, lastError, clock } = parts;
  const { configuration, signed } = agent;
  const states = await agent.gatewayStates();
  const roundTrips = await pings.of(states.map(({ address }) => address));
  const { last } = lastError;
  const unserved = configuration?.unserved;
  return {
    device: { id: enrolment.device, name: enrolment.name },
    user: enrolment.user,
    controlPlane: { url: enrolment.url, connected: isLinked() },
    session: sessionStatus(configuration, clock.now()),
    ...(signed === undefined
      ? {}
      : { configuration: { issuedAt: iso(signed.header.issuedAt), expiresAt: iso(signed.header.expiresAt) } }),
    gateways: states.map((state) => gatewayStatus(state, roundTrips.get(state.address))),
    reachable: {
      addresses: (configuration?.gateways ?? []).flatMap(({ allowedIps }) => allowedIps).slice(0, mostListed),
      names: (configuration?.gateways ?? []).flatMap(({ names }) => names).slice(0, mostListed),
      internet: configuration?.internet !== undefined,
    },
    ...(unserved === undefined
      ? {}
      : {
          unserved: {
            addresses: unserved.addresses.slice(0, mostListed),
            names: unserved.names.slice(0, mostListed),
          },
        }),
    ...(last === undefined ? {} : { lastError: { at: iso(last.at), text: last.text } }),
  };
}

export function sessionStatus(configuration: DeviceConfiguration | undefined, now: number): SessionStatus {
  if (configuration === undefined) return { state: "unknown" };
  const { sessionEndsAt } = configuration;
  if (sessionEndsAt === undefined) return { state: "unlimited" };
  const isSoon = sessionEndsAt - now <= warningMs;
  const state = hasSessionEnded(configuration, now) ? "ended" : isSoon ? "ends-soon" : "active";
  return { state, endsAt: iso(sessionEndsAt) };
}

function iso(at: number): string {
  return new Date(at).toISOString();
}
