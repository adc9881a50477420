import { deviceLinkPath, deviceLinkSubprotocols } from "@gatehouse/agent-protocol/device/frames";
import { gatewayLinkPath, gatewayLinkSubprotocols } from "@gatehouse/agent-protocol/gateway/frames";
import type { ConnectionLimits } from "../agents/channel/connection-gate.ts";
import { DeviceChannel } from "../agents/devices/device-channel.ts";
import { GatewayChannel } from "../agents/gateways/gateway-channel.ts";
import { DeviceSources } from "../agents/sources/device-sources.ts";
import type { LinkSocket } from "../http/link-sockets.ts";
import type { BackgroundTask } from "../platform/background-task.ts";
import type { Clock } from "../platform/clock.ts";
import type { CommandRunner } from "../platform/command.ts";
import type { Log } from "../platform/log.ts";
import type { OutboxFollower } from "../platform/outbox/outbox-follower.ts";

export interface DeviceLinkSettings {
  /** Limits that differ from the defaults. */
  readonly limits?: Partial<ConnectionLimits>;
  /** How long a configuration is valid without the control plane, in milliseconds; the tenant's setting if absent. */
  readonly lifeMs?: number;
  /** The time between two checks of what is due by time, in milliseconds. */
  readonly tickMs?: number;
}

export interface GatewayLinkSettings extends DeviceLinkSettings {
  /** How long open connections may last once their gateway is in maintenance, in milliseconds. */
  readonly drainMs?: number;
  /** How long gateways may take to reconnect after an outage of the control plane, in milliseconds. */
  readonly reconnectMs?: number;
  /** False leaves the detection of silent gateways to other replicas. */
  readonly watch?: boolean;
}

export interface AgentSettings {
  readonly gatewayLinks?: GatewayLinkSettings;
  readonly deviceLinks?: DeviceLinkSettings;
}

interface AgentDependencies {
  readonly runner: CommandRunner;
  readonly follower: OutboxFollower;
  readonly clock: Clock;
  readonly log: Log;
  /** Receives the time from a change until a gateway has applied it, in milliseconds. */
  readonly lagged: (lagMs: number) => void;
}

export interface AgentParts {
  readonly gateways: GatewayChannel;
  readonly devices: DeviceChannel;
  readonly sources: DeviceSources;
  readonly sockets: readonly LinkSocket[];
  readonly tasks: readonly BackgroundTask[];
  /** Ends all connections, and stores what is pending. */
  close(): Promise<void>;
}

/** The channels to gateways and devices. */
export function composeAgents(
  { gatewayLinks = {}, deviceLinks = {} }: AgentSettings,
  { runner, follower, clock, log, lagged }: AgentDependencies,
): AgentParts {
  const sources = new DeviceSources({ database: runner.database, clock, log });
  const gateways = new GatewayChannel({ runner, clock, log, sources, lagged, ...gatewayLinks });
  const devices = new DeviceChannel({ runner, clock, log, sources, ...deviceLinks });
  for (const channel of [gateways, devices]) {
    follower.subscribe(channel);
    sources.follow(channel);
  }
  const silence = {
    name: "gateway-silence",
    intervalMs: 2_000,
    run: () => gateways.detectSilence(),
    stop: () => gateways.stopDetection(),
  };
  return {
    gateways,
    devices,
    sources,
    sockets: [
      {
        path: gatewayLinkPath,
        subprotocols: gatewayLinkSubprotocols,
        invalidToken: "invalid_gateway_token",
        whose: "gateways",
        listener: gateways,
      },
      {
        path: deviceLinkPath,
        subprotocols: deviceLinkSubprotocols,
        invalidToken: "invalid_device_token",
        whose: "devices",
        listener: devices,
      },
    ],
    tasks: [
      { name: "gateway-links", intervalMs: gatewayLinks.tickMs ?? 1_000, run: async () => gateways.tick() },
      { name: "device-links", intervalMs: deviceLinks.tickMs ?? 1_000, run: async () => devices.tick() },
      { name: "device-sources", intervalMs: 1_000, run: () => sources.poll() },
      ...(gatewayLinks.watch === false ? [] : [silence]),
    ],
    async close() {
      await Promise.all([gateways.close(), devices.close()]);
      await sources.stop();
    },
  };
}
