/** Whether a configuration is one to enforce: made for this gateway, by the tenant's key, later than the last, not over. */

import { isSignedBy, sha256 } from "@gatehouse/agent-core/crypto/signatures";
import type { ConfigurationHeader, SignedConfiguration } from "@gatehouse/agent-protocol/gateway/configuration";
import { contentRoot, contentTreeOf } from "@gatehouse/agent-protocol/gateway/content-tree";
import { envelopeFault } from "@gatehouse/agent-protocol/gateway/envelope";
import type { FailureReason } from "@gatehouse/agent-protocol/gateway/frames";
import type { ConfigurationName } from "@gatehouse/agent-protocol/link/envelope";
import { configurationName as nameWith } from "@gatehouse/agent-protocol/link/envelope";

/** Whom an agent trusts: it takes configurations of this key, for this gateway alone, and none older than the latest. */
export interface Trust {
  /** Ed25519, the 32 bytes in base64. */
  readonly signingKey: string;
  /** Undefined before the first configuration has told it. */
  readonly gateway?: string | undefined;
  readonly tenant?: string | undefined;
  /** Of all that were ever enforced, over restarts too. */
  readonly latest?: ConfigurationName | undefined;
}

export interface Refusal {
  readonly reason: FailureReason;
  readonly message: string;
}

/**
 * @param now milliseconds since 1970
 * @returns undefined when it may be enforced
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
      return `It is not signed by the tenant's key, or not for this gateway: it names the gateway ${header.gateway} of the tenant ${header.tenant}.`;
    case "replayed":
      return `${momentOf(header)} is not later than ${latest === undefined ? "nothing" : momentOf(latest)}, which was enforced already.`;
    case "expired":
      return `It ended at ${new Date(header.expiresAt).toISOString()}.`;
    case "unknown_format":
      return `This agent does not know the format ${header.format}: it needs to be updated.`;
    default:
      return "The content is not what was signed.";
  }
}

function momentOf({ generation, issuedAt }: Pick<ConfigurationName, "generation" | "issuedAt">): string {
  return `generation ${generation} of ${new Date(issuedAt).toISOString()}`;
}
