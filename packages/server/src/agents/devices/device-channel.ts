import type { DeviceMessage } from "@gatehouse/agent-protocol/device/frames";
import type { LinkVersion } from "@gatehouse/agent-protocol/link/greeting";
import { findPresentedDevice } from "../../features/devices/devices.api.ts";
import type { LinkTransport } from "../../platform/link-transport.ts";
import { AgentChannel, type AgentChannelOptions, type TenantParts } from "../channel/agent-channel.ts";
import type { PresentedAgent } from "../channel/agent-connection.ts";
import { DeviceConnection } from "./device-connection.ts";
import { TenantDevices } from "./tenant-devices.ts";

export interface DeviceChannelOptions extends AgentChannelOptions {
  /**
   * How long a configuration is valid without the control plane, in milliseconds; the tenant's setting if
   * absent. Replicas should agree.
   */
  readonly lifeMs?: number | undefined;
}

/** The devices that are connected to this replica (docs/decisions/0045-device-link.md). */
export class DeviceChannel extends AgentChannel<PresentedAgent, DeviceMessage, DeviceConnection, TenantDevices> {
  readonly #options: DeviceChannelOptions;

  constructor(options: DeviceChannelOptions) {
    super({ name: "device", invalidToken: "invalid_device_token" }, options);
    this.#options = options;
  }

  protected async findAgent(tokenHash: Buffer): Promise<PresentedAgent | undefined> {
    const row = await findPresentedDevice(this.#options.runner.database, tokenHash);
    if (row === undefined) return undefined;
    return { tenantId: row.tenant_id, agentId: row.device_id, tokenHash: tokenHash.toString("hex") };
  }

  protected newConnection(
    agent: PresentedAgent,
    transport: LinkTransport,
    sourceAddress: string,
    version: LinkVersion,
    now: number,
  ) {
    return new DeviceConnection(agent, transport, sourceAddress, version, now);
  }

  protected newTenant(parts: TenantParts): TenantDevices {
    return new TenantDevices({ ...parts, lifeMs: this.#options.lifeMs });
  }
}
