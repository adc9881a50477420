import type { ConfigurationName } from "../link/envelope.ts";
import { compareOrder, configurationName, type VerifyText } from "../link/envelope.ts";
import type { HashText } from "../link/hash-tree.ts";
import { type ConfigurationEnvelope, configurationFormat, configurationSignatureDomain } from "./configuration.ts";
import type { FailureReason } from "./frames.ts";

/** The text that is signed for a configuration. */
export function signedText({ hash }: ConfigurationName): string {
  return `${configurationSignatureDomain}\n${hash}`;
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
  const name = configurationName(header, sha256);
  if (!verify(signedText(name), signature, expected.signingKey)) return "forged";
  if (header.gateway !== expected.gateway) return "forged";
  if (expected.tenant !== undefined && header.tenant !== expected.tenant) return "forged";
  if (header.format !== configurationFormat) return "unknown_format";
  if (header.expiresAt <= expected.now) return "expired";
  const { latest } = expected;
  if (latest === undefined || latest.hash === name.hash) return undefined;
  return compareOrder(name, latest) > 0 ? undefined : "replayed";
}
