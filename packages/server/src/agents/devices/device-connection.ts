/** One open connection of a device, and what it was told so far. */
import {
  type DeviceGoodbye,
  type DeviceHello,
  type DeviceMessage,
  deviceFrames,
} from "@gatehouse/agent-protocol/device/frames";
import type { PreviousRoutes } from "@gatehouse/policy/enforcement/device-routes";
import type { LinkTransport } from "../../platform/link-transport.ts";
import { frameChecks } from "../channel/frame-reader.ts";
import { LinkConnection, type LinkKind, sharedCloseCodes } from "../channel/link-connection.ts";
import type { DeviceSession } from "./device-session.ts";

/** Whose token it was. */
export interface PresentedDevice {
  readonly tenantId: string;
  readonly deviceId: string;
  /** SHA-256 in hexadecimal. */
  readonly tokenHash: string;
}

const kind: LinkKind<DeviceGoodbye["reason"]> = {
  checks: frameChecks(deviceFrames),
  closeCodes: { ...sharedCloseCodes, token_revoked: 4401, device_gone: 4404, other_key: 4403 },
};

export class DeviceConnection extends LinkConnection<DeviceMessage, DeviceGoodbye["reason"]> {
  readonly device: PresentedDevice;
  /** Where the connection comes from. */
  readonly sourceAddress: string;
  hello: DeviceHello | undefined;
  /** Set once it was taken in. */
  session: DeviceSession | undefined;
  /** What it should have, as last worked out. */
  routes: PreviousRoutes | undefined;
  /** When it has to be looked at again though nothing changes, in milliseconds since 1970. */
  dueAt = Number.POSITIVE_INFINITY;

  constructor(device: PresentedDevice, transport: LinkTransport, sourceAddress: string, now: number) {
    super(kind, transport, now);
    this.device = device;
    this.sourceAddress = sourceAddress;
  }
}
