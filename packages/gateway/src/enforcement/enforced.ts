/** The state that the agent enforces, computed for a time. */
import type { ConfigurationContent, SignedConfiguration } from "@gatehouse/agent-protocol/gateway/configuration";
import { limitedContent } from "../configuration/limited-content.ts";
import { nextChangeAt } from "../configuration/time-windows.ts";
import type { ForwardingSettings } from "./base-chains.ts";
import { type PolicyPart, policyPart } from "./traffic-rules.ts";

export interface Enforced {
  /** The latest configuration that the machine accepted. */
  readonly configuration: SignedConfiguration;
  /** The content that the kernel has. */
  readonly content: ConfigurationContent;
  /** Whether the machine refused a later configuration, so that the content is what both allow. */
  readonly isLimited: boolean;
  /** When all traffic is dropped, in milliseconds since 1970. */
  readonly expiresAt: number;
  readonly policy: PolicyPart;
  /** The time that the policy is for, in milliseconds since 1970. Later changes are still to be applied. */
  readonly policyAt: number;
}

/** The state after the machine accepts a configuration. */
export function enforcedFrom(
  configuration: SignedConfiguration,
  forwarding: ForwardingSettings,
  now: number,
): Enforced {
  const { content, envelope } = configuration;
  const { expiresAt } = envelope.header;
  const policy = policyPart(forwarding, content, now, expiresAt);
  return { configuration, content, isLimited: false, expiresAt, policy, policyAt: now };
}

/** The previous state without the access that a refused configuration does not allow. */
export function limitedBy(
  previous: Enforced,
  { content: refused, envelope }: SignedConfiguration,
  forwarding: ForwardingSettings,
  now: number,
): Enforced {
  const content = limitedContent(refused, previous.content, now);
  const expiresAt = Math.min(previous.expiresAt, envelope.header.expiresAt);
  const policy = policyPart(forwarding, content, now, expiresAt);
  return { configuration: previous.configuration, content, isLimited: true, expiresAt, policy, policyAt: now };
}

/** The same state with the policy for another time. */
export function enforcedAt(enforced: Enforced, forwarding: ForwardingSettings, now: number): Enforced {
  const { content, expiresAt } = enforced;
  return { ...enforced, policy: policyPart(forwarding, content, now, expiresAt), policyAt: now };
}

/** Returns the time at which the enforced policy ends. */
export function changesAt({ content, expiresAt, policyAt }: Enforced): number {
  return nextChangeAt(content, expiresAt, policyAt) ?? expiresAt;
}
