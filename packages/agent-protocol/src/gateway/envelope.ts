import type { ConfigurationName, HeaderExpectation, HeaderFault, VerifyText } from "../link/envelope.ts";
import { headerFault, signedTextOf } from "../link/envelope.ts";
import type { HashText } from "../link/hash-tree.ts";
import { type ConfigurationEnvelope, configurationFormat, configurationSignatureDomain } from "./configuration.ts";

/** Returns the text that is signed for a configuration. */
export function signedText(name: Pick<ConfigurationName, "hash">): string {
  return signedTextOf(configurationSignatureDomain, name);
}

/** The values that an agent checks an envelope against. */
export interface EnvelopeExpectation extends HeaderExpectation {
  readonly gateway: string;
}

/** Returns why a configuration must not be enforced, judged by its envelope; undefined: it is acceptable. */
export function envelopeFault(
  envelope: ConfigurationEnvelope,
  expected: EnvelopeExpectation,
  functions: { readonly sha256: HashText; readonly verify: VerifyText },
): HeaderFault | undefined {
  const isForAgent = envelope.header.gateway === expected.gateway;
  const kind = { domain: configurationSignatureDomain, format: configurationFormat, isForAgent };
  return headerFault(envelope, kind, expected, functions);
}
