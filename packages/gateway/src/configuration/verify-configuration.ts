/** Verifies configurations: the signature, the gateway, the order, the expiry and the content's hash. */

import type { PinnedTrust } from "@gatehouse/agent-core/configuration/pinned-trust";
import { isSignedBy, sha256 } from "@gatehouse/agent-core/crypto/signatures";
import type { ConfigurationHeader, SignedConfiguration } from "@gatehouse/agent-protocol/gateway/configuration";
import { contentRoot, contentTreeOf } from "@gatehouse/agent-protocol/gateway/content-tree";
import { envelopeFault } from "@gatehouse/agent-protocol/gateway/envelope";
import type { FailureReason } from "@gatehouse/agent-protocol/gateway/frames";
import type { ConfigurationName } from "@gatehouse/agent-protocol/link/envelope";
import { configurationName as nameWith } from "@gatehouse/agent-protocol/link/envelope";

/** The pinned identity. The agent accepts only configurations of this key, for this gateway, later than the latest. */
export interface Trust extends PinnedTrust {
  /** The keys that were pinned before, and led to the current one. Nothing that they sign is accepted. */
  readonly formerKeys?: readonly string[] | undefined;
  /** Undefined until the first configuration. */
  readonly gateway?: string | undefined;
  readonly tenant?: string | undefined;
}

export interface Refusal {
  readonly reason: FailureReason;
  readonly message: string;
}

/**
 * @param now milliseconds since 1970
 * @returns undefined if the configuration may be enforced
 */
export function refusalOf({ envelope, content }: SignedConfiguration, trust: Trust, now: number): Refusal | undefined {
  const { header } = envelope;
  const { signingKey, latest, tenant, gateway = header.gateway } = trust;
  const reason =
    envelopeFault(envelope, { signingKey, latest, tenant, gateway, now }, { sha256, verify: isSignedBy }) ??
    (contentRoot(contentTreeOf(content), sha256) === header.root ? undefined : "wrong_root");
  return reason === undefined ? undefined : { reason, message: messageOf(reason, header, latest) };
}

export function nameOf(header: ConfigurationHeader): ConfigurationName {
  return nameWith(header, sha256);
}

function messageOf(reason: FailureReason, header: ConfigurationHeader, latest: ConfigurationName | undefined): string {
  switch (reason) {
    case "forged":
      return `The tenant's key did not sign the configuration, or it is for another gateway: ${header.gateway} of tenant ${header.tenant}.`;
    case "replayed":
      return `${describe(header)} is not later than ${latest === undefined ? "none" : describe(latest)}, which has already been enforced.`;
    case "expired":
      return `The configuration expired at ${new Date(header.expiresAt).toISOString()}. Check the clock of this machine.`;
    case "unknown_format":
      return `This agent does not support format ${header.format}. Update the agent.`;
    default:
      return "The content does not match the signed hash.";
  }
}

function describe({ generation, issuedAt }: Pick<ConfigurationName, "generation" | "issuedAt">): string {
  return `Generation ${generation} of ${new Date(issuedAt).toISOString()}`;
}
