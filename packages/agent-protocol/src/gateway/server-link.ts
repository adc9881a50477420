/** The server's end of a link as a state machine without time, sockets or keys: SPEC.md, "The server's end". */

import type { ConfigurationName } from "../link/envelope.ts";
import { configurationName } from "../link/envelope.ts";
import type { HashText } from "../link/hash-tree.ts";
import type { ConfigurationEnvelope } from "./configuration.ts";
import { type ContentTree, contentRoot, differenceBetween } from "./content-tree.ts";
import type { Difference, FailureReason, Goodbye, Hello, Whole } from "./frames.ts";

/** A message with a configuration. The content of a whole is a tree, whose frames share texts with other gateways. */
export type OfferedConfiguration = (Omit<Whole, "content"> & { readonly content: ContentTree }) | Difference;

/** The configuration that the gateway should enforce. */
export interface WantedConfiguration {
  readonly generation: number;
  readonly content: ContentTree;
  /**
   * The expiry of a configuration that is signed now, in milliseconds since 1970. A configuration with this expiry is
   * not replaced.
   */
  readonly expiresAt: number;
  /** Milliseconds since 1970. A configuration that expires earlier is renewed. */
  readonly lastsUntil: number;
  /** Milliseconds since 1970. A configuration that expires later is replaced: the tenant shortened its lifetime. */
  readonly lastsAtMost: number;
}

/** A configuration that was sent or is enforced. */
interface KnownConfiguration {
  readonly name: ConfigurationName;
  readonly root: string;
  readonly expiresAt: number;
  /** Undefined: no longer known. */
  readonly content: ContentTree | undefined;
}

export const serverLinkPhases = ["greeting", "settled", "in-flight", "refused", "closed"] as const;
export type ServerLinkPhase = (typeof serverLinkPhases)[number];

export interface ServerLink {
  readonly phase: ServerLinkPhase;
  readonly wanted: WantedConfiguration;
  readonly enforced: KnownConfiguration | undefined;
  /** The configuration that is not acknowledged yet. */
  readonly inFlight: KnownConfiguration | undefined;
  readonly sentAsWhole: boolean;
}

export type ServerLinkEvent =
  | { readonly type: "hello"; readonly enforces: Hello["enforces"]; readonly held: ContentTree | undefined }
  | { readonly type: "applied"; readonly configuration: ConfigurationName }
  | {
      readonly type: "failed";
      readonly configuration: ConfigurationName;
      readonly reason: FailureReason;
      readonly message: string;
    }
  | { readonly type: "heartbeat" }
  | { readonly type: "wanted"; readonly wanted: WantedConfiguration }
  /** The retry of a refused configuration is due. */
  | { readonly type: "retry" }
  /** No frame arrived for too long, or a configuration was not acknowledged in time. */
  | { readonly type: "overdue" }
  | { readonly type: "cut" };

export type ServerLinkOutput =
  | { readonly do: "send"; readonly message: OfferedConfiguration }
  | { readonly do: "report-applied"; readonly configuration: ConfigurationName }
  | {
      readonly do: "report-failed";
      readonly configuration: ConfigurationName;
      readonly reason: FailureReason;
      readonly message: string;
    }
  | { readonly do: "close"; readonly reason: Goodbye["reason"] };

export interface ServerLinkFunctions {
  readonly sha256: HashText;
  /** Signs a configuration that must be later than another one. */
  readonly seal: (
    wanted: WantedConfiguration,
    root: string,
    after: Pick<ConfigurationName, "generation" | "issuedAt"> | undefined,
  ) => ConfigurationEnvelope;
}

export interface ServerLinkStep {
  readonly link: ServerLink;
  readonly outputs: readonly ServerLinkOutput[];
}

type EventOf<Type extends ServerLinkEvent["type"]> = Extract<ServerLinkEvent, { readonly type: Type }>;
type Handler<Type extends ServerLinkEvent["type"]> = (
  link: ServerLink,
  event: EventOf<Type>,
  functions: ServerLinkFunctions,
) => ServerLinkStep;
/** Handles every event in the same way. */
type AnyHandler = (link: ServerLink, event: ServerLinkEvent, functions: ServerLinkFunctions) => ServerLinkStep;
type Handlers = { readonly [Type in ServerLinkEvent["type"]]: Handler<Type> };

export function openServerLink(wanted: WantedConfiguration): ServerLink {
  return { phase: "greeting", wanted, enforced: undefined, inFlight: undefined, sentAsWhole: false };
}

/** Advances a link by one event. Every phase handles every event. */
export function stepServerLink(
  link: ServerLink,
  event: ServerLinkEvent,
  functions: ServerLinkFunctions,
): ServerLinkStep {
  // The table pairs each event type with its handler; a lookup by type cannot express that.
  const handler = table[link.phase][event.type] as AnyHandler;
  return handler(link, event, functions);
}

const stays: AnyHandler = (link) => ({ link, outputs: [] });
const ends: AnyHandler = (link) => ({ link: { ...link, phase: "closed" }, outputs: [] });
const violates: AnyHandler = (link) => closing(link, "protocol");
const gaveUp: AnyHandler = (link) => closing(link, "protocol");
const notes: Handler<"wanted"> = (link, { wanted }) => ({
  link: { ...link, wanted: later(link, wanted) },
  outputs: [],
});

const greets: Handler<"hello"> = (link, { enforces, held }, functions) => {
  if (enforces === null) return offered(link, functions);
  const { root, expiresAt, ...name } = enforces;
  const isKnown = held !== undefined && contentRoot(held, functions.sha256) === root;
  const isWanted = contentRoot(link.wanted.content, functions.sha256) === root;
  const content = isKnown ? held : isWanted ? link.wanted.content : undefined;
  return offered({ ...link, enforced: { name, root, expiresAt, content } }, functions);
};

const offersAgain: Handler<"wanted"> = (link, { wanted }, functions) =>
  offered({ ...link, wanted: later(link, wanted) }, functions);

const retries: Handler<"retry"> = (link, _, functions) => offered(link, functions);

const acknowledges: Handler<"applied"> = (link, { configuration }, functions) => {
  if (link.inFlight?.name.hash !== configuration.hash) return closing(link, "protocol");
  const next = offered({ ...link, enforced: link.inFlight, inFlight: undefined }, functions);
  return { link: next.link, outputs: [{ do: "report-applied", configuration }, ...next.outputs] };
};

const refuses: Handler<"failed"> = (link, { configuration, reason, message }, functions) => {
  if (link.inFlight?.name.hash !== configuration.hash) return closing(link, "protocol");
  const wasDifference = !link.sentAsWhole;
  const rest: ServerLink = { ...link, inFlight: undefined };
  // The agent has no common base. This is not a failure, because a full configuration needs none.
  if (wasDifference && (reason === "unknown_base" || reason === "wrong_root")) {
    const enforced = rest.enforced === undefined ? undefined : { ...rest.enforced, content: undefined };
    return offered({ ...rest, enforced }, functions);
  }
  // The configuration that is desired now may be accepted. The rejected one would be rejected again.
  const next: ServerLinkStep =
    link.wanted.generation > configuration.generation
      ? offered(rest, functions)
      : { link: { ...rest, phase: "refused" }, outputs: [] };
  return { link: next.link, outputs: [{ do: "report-failed", configuration, reason, message }, ...next.outputs] };
};

const table: Readonly<Record<ServerLinkPhase, Handlers>> = {
  greeting: {
    hello: greets,
    applied: violates,
    failed: violates,
    heartbeat: violates,
    wanted: notes,
    retry: stays,
    overdue: gaveUp,
    cut: ends,
  },
  settled: {
    hello: violates,
    applied: violates,
    failed: violates,
    heartbeat: stays,
    wanted: offersAgain,
    retry: stays,
    overdue: gaveUp,
    cut: ends,
  },
  // Later configurations wait. Only the last of them is sent.
  "in-flight": {
    hello: violates,
    applied: acknowledges,
    failed: refuses,
    heartbeat: stays,
    wanted: notes,
    retry: stays,
    overdue: gaveUp,
    cut: ends,
  },
  refused: {
    hello: violates,
    applied: violates,
    failed: violates,
    heartbeat: stays,
    wanted: offersAgain,
    retry: retries,
    overdue: gaveUp,
    cut: ends,
  },
  closed: {
    hello: stays,
    applied: stays,
    failed: stays,
    heartbeat: stays,
    wanted: stays,
    retry: stays,
    overdue: stays,
    cut: stays,
  },
};

/** Changes may arrive out of order, because they have several sources. */
function later(link: ServerLink, wanted: WantedConfiguration): WantedConfiguration {
  return wanted.generation < link.wanted.generation ? link.wanted : wanted;
}

/** Sends the desired configuration, unless the gateway enforces it, or a later generation. */
function offered(link: ServerLink, { sha256, seal }: ServerLinkFunctions): ServerLinkStep {
  const { wanted, enforced } = link;
  const root = contentRoot(wanted.content, sha256);
  const isEnforced = enforced?.root === root && hasLifetime(enforced, wanted);
  if (isEnforced || (enforced !== undefined && enforced.name.generation > wanted.generation)) {
    return { link: { ...link, phase: "settled" }, outputs: [] };
  }
  const envelope = seal(wanted, root, enforced?.name);
  const name = configurationName(envelope.header, sha256);
  const base = enforced?.content;
  const inFlight: KnownConfiguration = { name, root, expiresAt: envelope.header.expiresAt, content: wanted.content };
  const message: OfferedConfiguration =
    base === undefined || enforced === undefined
      ? { type: "whole", envelope, content: wanted.content }
      : {
          type: "difference",
          envelope,
          base: enforced.name,
          difference: differenceBetween(base, wanted.content, sha256),
        };
  const sentAsWhole = message.type === "whole";
  return { link: { ...link, phase: "in-flight", inFlight, sentAsWhole }, outputs: [{ do: "send", message }] };
}

/**
 * A new configuration always has the desired lifetime. Otherwise, the server would keep sending configurations.
 */
function hasLifetime({ expiresAt }: KnownConfiguration, wanted: WantedConfiguration): boolean {
  return expiresAt === wanted.expiresAt || (expiresAt >= wanted.lastsUntil && expiresAt <= wanted.lastsAtMost);
}

function closing(link: ServerLink, reason: Goodbye["reason"]): ServerLinkStep {
  return { link: { ...link, phase: "closed" }, outputs: [{ do: "close", reason }] };
}
