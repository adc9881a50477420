import type { DeviceConfiguration } from "@gatehouse/contract/records/device-configuration";

/** The time before the end of a session at which the agent warns. */
export const warningMs = 10 * 60_000;

/** @param now milliseconds since 1970 */
export function hasSessionEnded({ sessionEndsAt }: Pick<DeviceConfiguration, "sessionEndsAt">, now: number): boolean {
  return sessionEndsAt !== undefined && sessionEndsAt <= now;
}

/** Returns the configuration of the same device without any gateway, as the control plane sends it after the end. */
export function withoutGateways(configuration: DeviceConfiguration): DeviceConfiguration {
  const { internet: _internet, unserved: _unserved, ...rest } = configuration;
  return { ...rest, gateways: [] };
}
