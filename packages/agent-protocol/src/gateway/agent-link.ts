/** The gateway's kind of link. A configuration arrives whole, or as a difference from the one that is enforced. */
import {
  agentLink,
  type Expectation,
  type LinkKind,
  type StepAgentLink,
  type VerifiedConfiguration,
} from "../link/agent-link.ts";
import { type ConfigurationName, configurationName, unusedHash, type VerifyText } from "../link/envelope.ts";
import type { HashText } from "../link/hash-tree.ts";
import type { ConfigurationEnvelope } from "./configuration.ts";
import { applyDifference, type ContentTree, contentRoot, contentTreeOf } from "./content-tree.ts";
import { envelopeFault } from "./envelope.ts";
import type { Difference, EnforcedConfiguration, FailureReason, Whole } from "./frames.ts";

/** A configuration that passed verification. */
export interface GatewayConfiguration {
  readonly envelope: ConfigurationEnvelope;
  readonly content: ContentTree;
}

type Reason = Exclude<FailureReason, "not_applied">;
export type StepGatewayLink = StepAgentLink<Whole | Difference, GatewayConfiguration, Reason>;

const explanations: Readonly<Record<Reason, string>> = {
  forged: "The configuration is for another gateway, or the tenant's key did not sign it.",
  replayed: "A later configuration has already been enforced.",
  expired: "The configuration has expired. Check the clock of this machine.",
  unknown_format: "This agent does not support the configuration's format. Update the agent.",
  unknown_base: "The difference is based on a configuration that is not enforced here.",
  wrong_root: "The content does not match the signed hash.",
  malformed: "The content does not match its schema.",
};

/** Returns the state machine of a gateway's link. */
export function gatewayAgentLink(sha256: HashText, verify: VerifyText): StepGatewayLink {
  const kind: LinkKind<Whole | Difference, GatewayConfiguration, Reason> = {
    headerOf: ({ envelope }) => envelope.header,
    verify: (message, expected) => {
      const { envelope } = message;
      const { agent: gateway = envelope.header.gateway } = expected;
      const fault = envelopeFault(envelope, { ...expected, gateway }, { sha256, verify });
      if (fault !== undefined) return fault;
      const content = contentAfter(message, expected);
      if (content === undefined) return "unknown_base";
      return contentRoot(content, sha256) === envelope.header.root ? { envelope, content } : "wrong_root";
    },
    ownerOf: ({ envelope: { header } }) => ({ tenant: header.tenant, agent: header.gateway }),
    explanations,
  };
  return agentLink(kind);
}

/**
 * Returns the `enforces` field of `hello`. If the latest configuration has expired, the field still names it, because
 * the agent accepts only later ones.
 */
export function enforcedConfiguration(
  enforced: VerifiedConfiguration<GatewayConfiguration> | undefined,
  latest: ConfigurationName | undefined,
): EnforcedConfiguration | null {
  if (enforced === undefined) return latest === undefined ? null : { ...latest, root: unusedHash, expiresAt: 0 };
  const { root, expiresAt } = enforced.configuration.envelope.header;
  return { ...enforced.name, root, expiresAt };
}

/**
 * Returns the `enforces` field of `hello` for a configuration that is not enforced completely. No content has its root,
 * so the server sends the whole configuration, and does not wait for it to expire.
 */
export function incompleteConfiguration(
  { header }: GatewayConfiguration["envelope"],
  sha256: HashText,
): EnforcedConfiguration {
  return { ...configurationName(header, sha256), root: unusedHash, expiresAt: header.expiresAt };
}

function contentAfter(
  message: Whole | Difference,
  { enforced }: Expectation<GatewayConfiguration>,
): ContentTree | undefined {
  if (message.type === "whole") return contentTreeOf(message.content);
  if (enforced?.name.hash !== message.base.hash) return undefined;
  return applyDifference(enforced.configuration.content, message.difference);
}
