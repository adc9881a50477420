/** The device's kind of link. A configuration always arrives whole. */
import type { DeviceConfiguration } from "@gatehouse/contract/records/device-configuration";
import { agentLink, type LinkKind, type StepAgentLink, type VerifiedConfiguration } from "../link/agent-link.ts";
import { type ConfigurationName, unusedHash } from "../link/envelope.ts";
import type { SignedDeviceConfiguration } from "./configuration.ts";
import { type DeviceFunctions, deviceConfigurationFault, type UnreadConfiguration } from "./envelope.ts";
import type { DeviceFailureReason } from "./frames.ts";

type Reason = Exclude<DeviceFailureReason, "not_applied">;
export type StepDeviceLink = StepAgentLink<UnreadConfiguration, SignedDeviceConfiguration, Reason>;

/** Explains to people why a device does not use a configuration. The machine explains `not_applied` itself. */
export const explanations: Readonly<Record<Reason, string>> = {
  forged: "The configuration is for another device, or the tenant's key did not sign it.",
  replayed: "A later configuration has already been used.",
  expired: "The configuration has expired. Check the clock of this machine.",
  unknown_format: "This agent does not support the configuration's format. Update the agent.",
  malformed: "The content does not match its schema or the signed hash.",
};

/** Returns the state machine of a device's link. */
export function deviceAgentLink(functions: DeviceFunctions): StepDeviceLink {
  const kind: LinkKind<UnreadConfiguration, SignedDeviceConfiguration, Reason> = {
    headerOf: ({ header }) => header,
    verify: (message, { agent: device = "", ...expected }) => {
      const { header, signature, content } = message;
      const fault = deviceConfigurationFault(message, { ...expected, device }, functions);
      return fault ?? { header, signature, content: content as DeviceConfiguration }; // `hasForm` has checked it
    },
    ownerOf: ({ header: { tenant, device } }) => ({ tenant, agent: device }),
    explanations,
  };
  return agentLink(kind);
}

/**
 * Returns the `uses` field of `hello`. If the latest configuration has expired, the field still names it, because the
 * agent accepts only later ones. Its hash then says that the device uses nothing.
 */
export function usedConfiguration(
  used: Pick<VerifiedConfiguration<SignedDeviceConfiguration>, "name"> | undefined,
  latest: ConfigurationName | undefined,
): ConfigurationName | null {
  if (used !== undefined) return used.name;
  return latest === undefined ? null : { ...latest, hash: unusedHash };
}
