import { canonicalJson } from "./canonical-json.ts";
import {
  type ConfigurationEnvelope,
  type ConfigurationHeader,
  configurationFormat,
  configurationSignatureDomain,
} from "./configuration.ts";
import type { ConfigurationName, FailureReason } from "./frames.ts";
import type { HashText } from "./hash-tree.ts";

/** Whether a signature (base64) of a text's UTF-8 is by a key (Ed25519, base64). */
export type VerifyText = (text: string, signature: string, signingKey: string) => boolean;

/** What a configuration is called. */
export function nameOf(header: ConfigurationHeader, sha256: HashText): ConfigurationName {
  const { generation, issuedAt } = header;
  return { generation, issuedAt, hash: sha256(canonicalJson(header)) };
}

/** The text that is signed for a configuration. */
export function signedText({ hash }: ConfigurationName): string {
  return `${configurationSignatureDomain}\n${hash}`;
}

/** Above 0 where the first is the later configuration, 0 where neither is. */
export function compareOrder(
  a: Pick<ConfigurationName, "generation" | "issuedAt">,
  b: Pick<ConfigurationName, "generation" | "issuedAt">,
): number {
  return a.generation - b.generation || a.issuedAt - b.issuedAt;
}

/** What an agent holds an envelope against. */
export interface EnvelopeExpectation {
  readonly gateway: string;
  /** Undefined until the first configuration has told it. */
  readonly tenant: string | undefined;
  /** The pinned one, base64. */
  readonly signingKey: string;
  /** The latest configuration that the agent ever enforced, over restarts too; undefined: none. */
  readonly latest: ConfigurationName | undefined;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/**
 * Why a configuration must not be enforced, as far as its envelope tells; undefined: nothing speaks against it. The signature is asked
 * first: nothing else of what is forged means anything.
 */
export function envelopeFault(
  { header, signature }: ConfigurationEnvelope,
  expected: EnvelopeExpectation,
  { sha256, verify }: { readonly sha256: HashText; readonly verify: VerifyText },
): FailureReason | undefined {
  const name = nameOf(header, sha256);
  if (!verify(signedText(name), signature, expected.signingKey)) return "forged";
  if (header.gateway !== expected.gateway) return "forged";
  if (expected.tenant !== undefined && header.tenant !== expected.tenant) return "forged";
  if (header.format !== configurationFormat) return "unknown_format";
  if (header.expiresAt <= expected.now) return "expired";
  const { latest } = expected;
  if (latest === undefined || latest.hash === name.hash) return undefined;
  return compareOrder(name, latest) > 0 ? undefined : "replayed";
}
