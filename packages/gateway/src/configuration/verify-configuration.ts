/** Whether a configuration is one to enforce: made for this gateway, by the tenant's key, later than the last, not over. */
import { createHash, createPublicKey, verify } from "node:crypto";
import type { ConfigurationHeader, SignedConfiguration } from "@gatehouse/contract/gateway-link/configuration";
import { contentRoot, contentTreeOf } from "@gatehouse/contract/gateway-link/content-tree";
import { envelopeFault, nameOf as nameWith } from "@gatehouse/contract/gateway-link/envelope";
import type { ConfigurationName, FailureReason } from "@gatehouse/contract/gateway-link/frames";

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

/** What stands before a key's bytes in SubjectPublicKeyInfo (RFC 8410). */
const ed25519Prefix = Buffer.from("302a300506032b6570032100", "hex");

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

/** Whether a text can be a key that signs configurations. */
export function isSigningKey(text: string): boolean {
  return /^[A-Za-z0-9+/]{43}=$/.test(text);
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

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

function isSignedBy(text: string, signature: string, signingKey: string): boolean {
  const der = Buffer.concat([ed25519Prefix, Buffer.from(signingKey, "base64")]);
  const key = createPublicKey({ key: der, format: "der", type: "spki" });
  return verify(null, Buffer.from(text), key, Buffer.from(signature, "base64"));
}
