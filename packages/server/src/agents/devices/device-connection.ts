import {
  type DeviceGoodbye,
  type DeviceHello,
  type DeviceMessage,
  deviceFrames,
} from "@gatehouse/agent-protocol/device/frames";
import type { LinkVersion } from "@gatehouse/agent-protocol/link/greeting";
import type { PreviousRoutes } from "@gatehouse/policy/enforcement/sticky-gateways";
import type { LinkTransport } from "../../platform/link-transport.ts";
import {
  AgentConnection,
  type ConnectionKind,
  type PresentedAgent,
  sharedCloseCodes,
} from "../channel/agent-connection.ts";
import { frameChecks } from "../channel/frame-reader.ts";
import type { DeviceSession } from "./device-session.ts";

export type DeviceReason = DeviceGoodbye["reason"];

const kind: ConnectionKind<DeviceReason> = {
  checks: frameChecks(deviceFrames),
  closeCodes: { ...sharedCloseCodes, token_revoked: 4401, device_gone: 4404, other_key: 4403 },
};

/** One open connection of a device. */
export class DeviceConnection extends AgentConnection<DeviceMessage, DeviceReason, PresentedAgent, DeviceSession> {
  hello: DeviceHello | undefined;
  /** How often the key was stored because it differed from the stored one. */
  keyWrites = 0;
  /** The routes that the device should have, as computed last. */
  routes: PreviousRoutes | undefined;
  /** The time that the routes were computed for, in milliseconds since 1970. */
  routedAt = 0;
  /** When the routes have to be computed again although no record changes, in milliseconds since 1970. */
  dueAt = Number.POSITIVE_INFINITY;

  constructor(
    agent: PresentedAgent,
    transport: LinkTransport,
    sourceAddress: string,
    version: LinkVersion,
    now: number,
  ) {
    super({ kind, agent, transport, sourceAddress, version, now });
  }
}
