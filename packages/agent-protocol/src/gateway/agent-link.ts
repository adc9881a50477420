/** The agent's end of a link as a machine without time, sockets or a kernel: SPEC.md, "The agent's end". */

import type { ConfigurationName } from "../link/envelope.ts";
import { configurationName, type VerifyText } from "../link/envelope.ts";
import type { HashText } from "../link/hash-tree.ts";
import type { ConfigurationEnvelope } from "./configuration.ts";
import { type ContentTree, contentRoot, contentTreeOf, withDifference } from "./content-tree.ts";
import { envelopeFault } from "./envelope.ts";
import type {
  Applied,
  Difference,
  EnforcedConfiguration,
  Failed,
  FailureReason,
  Goodbye,
  Welcome,
  Whole,
} from "./frames.ts";

/** A configuration that was verified. */
export interface VerifiedConfiguration {
  readonly envelope: ConfigurationEnvelope;
  readonly name: ConfigurationName;
  readonly content: ContentTree;
}

export const agentLinkPhases = ["away", "connecting", "settling", "greeting", "open"] as const;
export type AgentLinkPhase = (typeof agentLinkPhases)[number];

export interface AgentLink {
  readonly phase: AgentLinkPhase;
  readonly gateway: string;
  /** The tenant's key, from the first meeting on. */
  readonly signingKey: string | undefined;
  readonly enforced: VerifiedConfiguration | undefined;
  /** What is being applied now. */
  readonly applying: VerifiedConfiguration | undefined;
  /** How many attempts to connect have failed in a row. */
  readonly attempts: number;
}

export type AgentLinkEvent =
  | { readonly type: "connected" }
  | { readonly type: "cut" }
  | { readonly type: "retry" }
  | { readonly type: "welcome"; readonly message: Welcome }
  | { readonly type: "configuration"; readonly message: Whole | Difference }
  | { readonly type: "goodbye"; readonly message: Goodbye }
  /** What was being applied is enforced now. */
  | { readonly type: "applied" }
  /** It is not; what was enforced before still is. */
  | { readonly type: "failed"; readonly message: string }
  /** What was enforced has expired, and nothing is. */
  | { readonly type: "expired" }
  /** The server has not answered for too long. */
  | { readonly type: "overdue" };

export type AgentLinkOutput =
  | { readonly do: "connect" }
  | { readonly do: "hello"; readonly enforces: EnforcedConfiguration | null }
  | { readonly do: "send"; readonly message: Applied | Failed }
  /** In one step, or not at all; then `applied` or `failed`. */
  | { readonly do: "apply"; readonly configuration: VerifiedConfiguration }
  /** For good: from now on no other key counts. */
  | { readonly do: "pin"; readonly signingKey: string }
  | { readonly do: "close" }
  | { readonly do: "wait"; readonly delayMs: number };

export interface AgentLinkFunctions {
  readonly sha256: HashText;
  readonly verify: VerifyText;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** From 0 up to 1, without 1. */
  readonly random: () => number;
}

export interface AgentLinkStep {
  readonly link: AgentLink;
  readonly outputs: readonly AgentLinkOutput[];
}

type EventOf<Type extends AgentLinkEvent["type"]> = Extract<AgentLinkEvent, { readonly type: Type }>;
type Handler<Type extends AgentLinkEvent["type"]> = (
  link: AgentLink,
  event: EventOf<Type>,
  functions: AgentLinkFunctions,
) => AgentLinkStep;
/** Does the same whatever happens. */
type AnyHandler = (link: AgentLink, event: AgentLinkEvent, functions: AgentLinkFunctions) => AgentLinkStep;
type Handlers = { readonly [Type in AgentLinkEvent["type"]]: Handler<Type> };

/** Before the first connection; with what was kept from before a restart. */
export function newAgentLink(
  gateway: string,
  kept: { readonly signingKey?: string; readonly enforced?: VerifiedConfiguration } = {},
): AgentLink {
  return {
    phase: "away",
    gateway,
    signingKey: kept.signingKey,
    enforced: kept.enforced,
    applying: undefined,
    attempts: 0,
  };
}

/** What happens to a link; each phase has an answer to each event. */
export function stepAgentLink(link: AgentLink, event: AgentLinkEvent, functions: AgentLinkFunctions): AgentLinkStep {
  // A handler takes the event that it is listed for, which a lookup by type cannot tell.
  const handler = table[link.phase][event.type] as AnyHandler;
  return handler(link, event, functions);
}

const firstDelayMs = 500;
const longestDelayMs = 30_000;

/**
 * How long to wait before an attempt to connect: "full jitter", anything up to a bound that doubles with each failure. Thousands of
 * gateways that lose their server together come back spread over the whole of it.
 */
export function reconnectDelayMs(attempts: number, random: number): number {
  return Math.floor(random * Math.min(longestDelayMs, firstDelayMs * 2 ** Math.min(attempts, 16)));
}

const stays: AnyHandler = (link) => ({ link, outputs: [] });
const connects: Handler<"retry"> = (link) => ({ link: { ...link, phase: "connecting" }, outputs: [{ do: "connect" }] });
const violates: AnyHandler = (link, _, functions) => leaving(link, 0, true, functions);
const isCut: Handler<"cut"> = (link, _, functions) => leaving(link, 0, false, functions);
const givesUp: Handler<"overdue"> = (link, _, functions) => leaving(link, 0, true, functions);
const isToldOff: Handler<"goodbye"> = (link, { message }, functions) =>
  leaving(link, message.retryAfterMs ?? 0, true, functions);

/** What is being applied when a link comes up is finished first, so that the greeting tells what is so. */
const greets: Handler<"connected"> = (link) =>
  link.applying === undefined ? greeting(link) : { link: { ...link, phase: "settling" }, outputs: [] };
const greetsAfterApplying: Handler<"applied"> = (link) => greeting(enforcing(link));
const greetsAfterFailing: Handler<"failed"> = (link) => greeting({ ...link, applying: undefined });
const noted: Handler<"applied"> = (link) => ({ link: enforcing(link), outputs: [] });
const forgotten: Handler<"failed"> = (link) => ({ link: { ...link, applying: undefined }, outputs: [] });

const ends: Handler<"expired"> = (link) => ({ link: { ...link, enforced: undefined }, outputs: [] });
/** The server was told, or is about to be, that it is enforced. */
const endsAndGreetsAnew: Handler<"expired"> = (link, _, functions) =>
  leaving({ ...link, enforced: undefined }, 0, true, functions);

const isWelcomed: Handler<"welcome"> = (link, { message }, functions) => {
  const { signingKey } = message;
  // Somebody else's server, or one that was set up anew: nothing it says can be verified.
  if (link.signingKey !== undefined && link.signingKey !== signingKey)
    return leaving(link, longestDelayMs, true, functions);
  const pins: readonly AgentLinkOutput[] = link.signingKey === undefined ? [{ do: "pin", signingKey }] : [];
  return { link: { ...link, phase: "open", signingKey, attempts: 0 }, outputs: pins };
};

const receives: Handler<"configuration"> = (link, { message }, functions) => {
  // One at a time: the server knows that the last one is not acknowledged.
  if (link.applying !== undefined) return leaving(link, 0, true, functions);
  const verified = verifiedConfiguration(link, message, functions);
  const name = configurationName(message.envelope.header, functions.sha256);
  if (typeof verified === "string") {
    const failed: Failed = { type: "failed", configuration: name, reason: verified, message: explanations[verified] };
    return { link, outputs: [{ do: "send", message: failed }] };
  }
  if (link.enforced?.name.hash === name.hash) {
    return { link, outputs: [{ do: "send", message: { type: "applied", configuration: name } }] };
  }
  return { link: { ...link, applying: verified }, outputs: [{ do: "apply", configuration: verified }] };
};

const acknowledges: Handler<"applied"> = (link) => {
  if (link.applying === undefined) return { link, outputs: [] };
  const configuration = link.applying.name;
  return { link: enforcing(link), outputs: [{ do: "send", message: { type: "applied", configuration } }] };
};

const reports: Handler<"failed"> = (link, { message }) => {
  if (link.applying === undefined) return { link, outputs: [] };
  const configuration = link.applying.name;
  const failed: Failed = { type: "failed", configuration, reason: "not_applied", message };
  return { link: { ...link, applying: undefined }, outputs: [{ do: "send", message: failed }] };
};

const table: Readonly<Record<AgentLinkPhase, Handlers>> = {
  away: {
    connected: stays,
    cut: stays,
    retry: connects,
    welcome: stays,
    configuration: stays,
    goodbye: stays,
    applied: noted,
    failed: forgotten,
    expired: ends,
    overdue: stays,
  },
  connecting: {
    connected: greets,
    cut: isCut,
    retry: stays,
    welcome: violates,
    configuration: violates,
    goodbye: isToldOff,
    applied: noted,
    failed: forgotten,
    expired: ends,
    overdue: givesUp,
  },
  settling: {
    connected: stays,
    cut: isCut,
    retry: stays,
    welcome: violates,
    configuration: violates,
    goodbye: isToldOff,
    applied: greetsAfterApplying,
    failed: greetsAfterFailing,
    expired: ends,
    overdue: givesUp,
  },
  greeting: {
    connected: stays,
    cut: isCut,
    retry: stays,
    welcome: isWelcomed,
    configuration: violates,
    goodbye: isToldOff,
    applied: stays,
    failed: stays,
    expired: endsAndGreetsAnew,
    overdue: givesUp,
  },
  open: {
    connected: stays,
    cut: isCut,
    retry: stays,
    welcome: violates,
    configuration: receives,
    goodbye: isToldOff,
    applied: acknowledges,
    failed: reports,
    expired: endsAndGreetsAnew,
    overdue: givesUp,
  },
};

const explanations: Readonly<Record<FailureReason, string>> = {
  forged: "The configuration is not for this gateway, or not signed with the tenant's key.",
  replayed: "A later configuration is enforced already.",
  expired: "The configuration has expired. Is the clock of this machine right?",
  unknown_format: "This agent does not know the configuration's format; a newer version may.",
  unknown_base: "The difference is from a configuration that is not enforced here.",
  wrong_root: "The content is not the one that was signed.",
  malformed: "The content does not have its form.",
  not_applied: "The configuration could not be applied.",
};

function verifiedConfiguration(
  link: AgentLink,
  message: Whole | Difference,
  { sha256, verify, now }: AgentLinkFunctions,
): VerifiedConfiguration | FailureReason {
  const { enforced, gateway, signingKey = "" } = link;
  const tenant = enforced?.envelope.header.tenant;
  const expected = { gateway, tenant, signingKey, latest: enforced?.name, now: now() };
  const fault = envelopeFault(message.envelope, expected, { sha256, verify });
  if (fault !== undefined) return fault;
  const content = contentAfter(enforced, message);
  if (content === undefined) return "unknown_base";
  if (contentRoot(content, sha256) !== message.envelope.header.root) return "wrong_root";
  return { envelope: message.envelope, name: configurationName(message.envelope.header, sha256), content };
}

function contentAfter(
  enforced: VerifiedConfiguration | undefined,
  message: Whole | Difference,
): ContentTree | undefined {
  if (message.type === "whole") return contentTreeOf(message.content);
  if (enforced?.name.hash !== message.base.hash) return undefined;
  return withDifference(enforced.content, message.difference);
}

function enforcing(link: AgentLink): AgentLink {
  return { ...link, enforced: link.applying ?? link.enforced, applying: undefined };
}

function greeting(link: AgentLink): AgentLinkStep {
  const { enforced } = link;
  if (enforced === undefined)
    return { link: { ...link, phase: "greeting" }, outputs: [{ do: "hello", enforces: null }] };
  const { root, expiresAt } = enforced.envelope.header;
  return {
    link: { ...link, phase: "greeting" },
    outputs: [{ do: "hello", enforces: { ...enforced.name, root, expiresAt } }],
  };
}

function leaving(link: AgentLink, notBeforeMs: number, closes: boolean, { random }: AgentLinkFunctions): AgentLinkStep {
  const delayMs = notBeforeMs + reconnectDelayMs(link.attempts, random());
  const wait: AgentLinkOutput = { do: "wait", delayMs };
  return {
    link: { ...link, phase: "away", attempts: link.attempts + 1 },
    outputs: closes ? [{ do: "close" }, wait] : [wait],
  };
}
