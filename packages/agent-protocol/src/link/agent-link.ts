/**
 * The agent's end of a link as a state machine without time, sockets or a kernel: gateway/SPEC.md, "The agent's end".
 * Gateways and devices share the machine; they differ in how they verify a configuration.
 */
import { isLowOrderKey } from "@gatehouse/contract/wireguard-keys";
import { type ConfigurationName, configurationName, type NamedHeader, type VerifyText } from "./envelope.ts";
import type { HashText } from "./hash-tree.ts";
import type { Challenge } from "./key-proof.ts";
import { leadsTo, type SigningKeyHandover } from "./signing-key-handover.ts";

/** A configuration that passed verification. */
export interface VerifiedConfiguration<Configuration> {
  readonly name: ConfigurationName;
  readonly configuration: Configuration;
}

/** The fields of `welcome` that the machine checks. A gateway learns its id and tenant from its first configuration. */
export interface WelcomeIdentity {
  readonly signingKey: string;
  /** The statements by which earlier signing keys led to this one. */
  readonly handovers?: readonly SigningKeyHandover[];
  readonly tenant?: string;
  readonly device?: string;
}

/** The values that an agent checks a configuration against. */
export interface Expectation<Configuration> {
  /** The gateway's or device's id; undefined until the gateway's first configuration. */
  readonly agent: string | undefined;
  readonly tenant: string | undefined;
  /** The pinned key, base64. */
  readonly signingKey: string;
  /** The latest configuration that was ever enforced, across restarts and expiry; undefined: none. */
  readonly latest: ConfigurationName | undefined;
  /** The configuration that is enforced now. */
  readonly enforced: VerifiedConfiguration<Configuration> | undefined;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** The part of a link that differs between gateways and devices. */
export interface LinkKind<Message, Configuration, Reason extends string> {
  readonly headerOf: (message: Message) => NamedHeader;
  /** Returns the configuration in a message, or why it must not be enforced. */
  readonly verify: (message: Message, expected: Expectation<Configuration>) => Configuration | Reason;
  /** Returns the tenant, and the gateway or device, that a configuration is for. */
  readonly ownerOf: (configuration: Configuration) => { readonly tenant: string; readonly agent: string };
  /** Explains each reason to people. */
  readonly explanations: Readonly<Record<Reason, string>>;
}

export const agentLinkPhases = ["away", "connecting", "settling", "greeting", "proving", "open"] as const;
export type AgentLinkPhase = (typeof agentLinkPhases)[number];

export interface AgentLink<Configuration> {
  readonly phase: AgentLinkPhase;
  /** The gateway's or device's id. */
  readonly agent: string | undefined;
  readonly tenant: string | undefined;
  /** The tenant's key, pinned by the first `welcome`. */
  readonly signingKey: string | undefined;
  /** The latest configuration that was ever enforced. It may have expired. */
  readonly latest: ConfigurationName | undefined;
  readonly enforced: VerifiedConfiguration<Configuration> | undefined;
  /** The configuration that is being applied. */
  readonly applying: VerifiedConfiguration<Configuration> | undefined;
  /** The number of consecutive failed attempts to connect. */
  readonly attempts: number;
}

export type AgentLinkEvent<Message> =
  | { readonly type: "connected" }
  | { readonly type: "cut" }
  | { readonly type: "retry" }
  | { readonly type: "challenge"; readonly message: Challenge }
  | { readonly type: "welcome"; readonly message: WelcomeIdentity }
  | { readonly type: "configuration"; readonly message: Message }
  | { readonly type: "goodbye"; readonly message: { readonly retryAfterMs?: number } }
  /** The configuration that was being applied is now enforced. */
  | { readonly type: "applied" }
  /** Applying failed. The previous configuration is still enforced, without the access that the failed one removes. */
  | { readonly type: "failed"; readonly message: string }
  /** The enforced configuration has expired. */
  | { readonly type: "expired" }
  /** The server has not answered for too long, or `hello` is no longer accurate. */
  | { readonly type: "overdue" };

/** Why the server is not the one that the agent first connected to. A person has to intervene. */
export type LinkAlarm = "signing_key" | "tenant" | "device";

export type AgentLinkReport<Reason> =
  | { readonly type: "applied"; readonly configuration: ConfigurationName }
  | {
      readonly type: "failed";
      readonly configuration: ConfigurationName;
      readonly reason: Reason | "not_applied";
      readonly message: string;
    };

export type AgentLinkOutput<Configuration, Reason> =
  | { readonly do: "connect" }
  /** Without an enforced configuration, `hello` names the latest one, so that the server sends a later one. */
  | {
      readonly do: "hello";
      readonly enforced: VerifiedConfiguration<Configuration> | undefined;
      readonly latest: ConfigurationName | undefined;
    }
  /** Prove possession of the WireGuard key. */
  | { readonly do: "prove"; readonly challenge: Challenge }
  | { readonly do: "send"; readonly message: AgentLinkReport<Reason> }
  /** Apply atomically, then report `applied` or `failed`. */
  | { readonly do: "apply"; readonly configuration: Configuration }
  /** Persist the identity of the server. From now on, the agent accepts only this one and those it leads to. */
  | { readonly do: "pin"; readonly identity: WelcomeIdentity }
  | { readonly do: "alarm"; readonly about: LinkAlarm }
  | { readonly do: "close" }
  | { readonly do: "wait"; readonly delayMs: number };

export interface AgentLinkFunctions {
  readonly sha256: HashText;
  readonly verify: VerifyText;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** At least 0, less than 1. */
  readonly random: () => number;
}

export interface AgentLinkStep<Configuration, Reason> {
  readonly link: AgentLink<Configuration>;
  readonly outputs: readonly AgentLinkOutput<Configuration, Reason>[];
}

/** Advances a link by one event. Every phase handles every event. */
export type StepAgentLink<Message, Configuration, Reason> = (
  link: AgentLink<Configuration>,
  event: AgentLinkEvent<Message>,
  functions: AgentLinkFunctions,
) => AgentLinkStep<Configuration, Reason>;

/** Returns a link that has not connected yet, with the state that the agent persisted before a restart. */
export function newAgentLink<Configuration>(
  state: Partial<Pick<AgentLink<Configuration>, "agent" | "tenant" | "signingKey" | "latest" | "enforced">> = {},
): AgentLink<Configuration> {
  const { agent, tenant, signingKey, enforced, latest = enforced?.name } = state;
  return { phase: "away", agent, tenant, signingKey, latest, enforced, applying: undefined, attempts: 0 };
}

const firstDelayMs = 500;
const longestDelayMs = 30_000;
/** The `message` field of `failed` has this many characters at most. */
const longestFailure = 2000;

/**
 * Returns the delay before the next attempt to connect: "full jitter", a random share of a bound that doubles with each
 * failure. Thousands of agents that lose their server together reconnect spread over the whole bound.
 */
export function reconnectDelayMs(attempts: number, random: number): number {
  return Math.floor(random * Math.min(longestDelayMs, firstDelayMs * 2 ** Math.min(attempts, 16)));
}

/** Returns the state machine for one kind of link. */
export function agentLink<Message, Configuration extends object, Reason extends string>(
  kind: LinkKind<Message, Configuration, Reason>,
): StepAgentLink<Message, Configuration, Reason> {
  type Link = AgentLink<Configuration>;
  type Step = AgentLinkStep<Configuration, Reason>;
  type Event = AgentLinkEvent<Message>;
  type Handler<Type extends Event["type"]> = (
    link: Link,
    event: Extract<Event, { readonly type: Type }>,
    functions: AgentLinkFunctions,
  ) => Step;
  type AnyHandler = (link: Link, event: Event, functions: AgentLinkFunctions) => Step;
  type Handlers = { readonly [Type in Event["type"]]: Handler<Type> };

  const ignore: AnyHandler = (link) => ({ link, outputs: [] });
  const connect: Handler<"retry"> = (link) => ({
    link: { ...link, phase: "connecting" },
    outputs: [{ do: "connect" }],
  });
  const disconnect: AnyHandler = (link, _, { random }) => reconnectLater(link, random());
  const disconnectAsTold: Handler<"goodbye"> = (link, { message }, { random }) =>
    reconnectLater(link, random(), message.retryAfterMs);
  const handleCut: Handler<"cut"> = (link, _, { random }) => {
    const { link: next, outputs } = reconnectLater<Configuration, Reason>(link, random());
    return { link: next, outputs: outputs.filter((output) => output.do !== "close") };
  };

  /** A configuration that is being applied during the connection is finished first, so that `hello` is accurate. */
  const greetOrSettle: Handler<"connected"> = (link) =>
    link.applying === undefined ? greet(link) : { link: { ...link, phase: "settling" }, outputs: [] };
  const greetAfterApplying: Handler<"applied"> = (link) => greet(withApplied(link));
  const greetAfterFailure: Handler<"failed"> = (link) => greet({ ...link, applying: undefined });
  const recordApplied: Handler<"applied"> = (link) => ({ link: withApplied(link), outputs: [] });
  const recordFailure: Handler<"failed"> = (link) => ({ link: { ...link, applying: undefined }, outputs: [] });
  const recordExpiry: Handler<"expired"> = (link) => ({ link: { ...link, enforced: undefined }, outputs: [] });
  /** The server believes that the configuration is enforced; a new `hello` corrects it. */
  const reconnectAfterExpiry: Handler<"expired"> = (link, _, { random }) =>
    reconnectLater({ ...link, enforced: undefined }, random());

  /**
   * A proof is valid for one tenant and agent only, so the agent proves nothing for others. One challenge is answered
   * per link.
   */
  const handleChallenge: Handler<"challenge"> = (link, { message }, { random }) => {
    if (isLowOrderKey(message.ephemeralKey)) return reconnectLater(link, random());
    const alarm =
      link.tenant !== undefined && link.tenant !== message.tenant
        ? "tenant"
        : link.agent !== undefined && link.agent !== message.agent
          ? "device"
          : undefined;
    if (alarm !== undefined) return leaveAlarmed(link, alarm, random());
    return { link: { ...link, phase: "proving" }, outputs: [{ do: "prove", challenge: message }] };
  };

  const handleWelcome: Handler<"welcome"> = (link, { message }, { random, verify }) => {
    const alarm = alarmAbout(link, message, verify);
    if (alarm !== undefined) return leaveAlarmed(link, alarm, random());
    const { signingKey, tenant = link.tenant } = message;
    const isPinned = link.signingKey === signingKey && link.tenant === tenant;
    return {
      link: { ...link, phase: "open", signingKey, tenant, attempts: 0 },
      outputs: isPinned ? [] : [{ do: "pin", identity: message }],
    };
  };

  const handleConfiguration: Handler<"configuration"> = (link, { message }, { sha256, now, random }) => {
    // The server sends the next configuration only after the previous one was acknowledged.
    if (link.applying !== undefined) return reconnectLater(link, random());
    const { agent, tenant, signingKey = "", latest, enforced } = link;
    const verified = kind.verify(message, { agent, tenant, signingKey, latest, enforced, now: now() });
    const name = configurationName(kind.headerOf(message), sha256);
    if (typeof verified === "string") {
      const failed = { type: "failed", configuration: name, reason: verified } as const;
      return { link, outputs: [{ do: "send", message: { ...failed, message: kind.explanations[verified] } }] };
    }
    if (enforced?.name.hash === name.hash) {
      return { link, outputs: [{ do: "send", message: { type: "applied", configuration: name } }] };
    }
    const applying = { name, configuration: verified };
    return { link: { ...link, applying }, outputs: [{ do: "apply", configuration: verified }] };
  };

  const reportApplied: Handler<"applied"> = (link) => {
    if (link.applying === undefined) return { link, outputs: [] };
    const configuration = link.applying.name;
    return { link: withApplied(link), outputs: [{ do: "send", message: { type: "applied", configuration } }] };
  };

  const reportFailure: Handler<"failed"> = (link, { message }) => {
    if (link.applying === undefined) return { link, outputs: [] };
    const failed = {
      type: "failed",
      configuration: link.applying.name,
      reason: "not_applied",
      message: message.slice(0, longestFailure),
    } as const;
    return { link: { ...link, applying: undefined }, outputs: [{ do: "send", message: failed }] };
  };

  function withApplied(link: Link): Link {
    if (link.applying === undefined) return link;
    const { name, configuration } = link.applying;
    return { ...link, ...kind.ownerOf(configuration), enforced: link.applying, latest: name, applying: undefined };
  }

  const table: Readonly<Record<AgentLinkPhase, Handlers>> = {
    away: {
      connected: ignore,
      cut: ignore,
      retry: connect,
      challenge: ignore,
      welcome: ignore,
      configuration: ignore,
      goodbye: ignore,
      applied: recordApplied,
      failed: recordFailure,
      expired: recordExpiry,
      overdue: ignore,
    },
    connecting: {
      connected: greetOrSettle,
      cut: handleCut,
      retry: ignore,
      challenge: disconnect,
      welcome: disconnect,
      configuration: disconnect,
      goodbye: disconnectAsTold,
      applied: recordApplied,
      failed: recordFailure,
      expired: recordExpiry,
      overdue: disconnect,
    },
    settling: {
      connected: ignore,
      cut: handleCut,
      retry: ignore,
      challenge: disconnect,
      welcome: disconnect,
      configuration: disconnect,
      goodbye: disconnectAsTold,
      applied: greetAfterApplying,
      failed: greetAfterFailure,
      expired: recordExpiry,
      overdue: disconnect,
    },
    greeting: {
      connected: ignore,
      cut: handleCut,
      retry: ignore,
      challenge: handleChallenge,
      welcome: handleWelcome,
      configuration: disconnect,
      goodbye: disconnectAsTold,
      applied: ignore,
      failed: ignore,
      expired: reconnectAfterExpiry,
      overdue: disconnect,
    },
    proving: {
      connected: ignore,
      cut: handleCut,
      retry: ignore,
      challenge: disconnect,
      welcome: handleWelcome,
      configuration: disconnect,
      goodbye: disconnectAsTold,
      applied: ignore,
      failed: ignore,
      expired: reconnectAfterExpiry,
      overdue: disconnect,
    },
    open: {
      connected: ignore,
      cut: handleCut,
      retry: ignore,
      challenge: disconnect,
      welcome: disconnect,
      configuration: handleConfiguration,
      goodbye: disconnectAsTold,
      applied: reportApplied,
      failed: reportFailure,
      expired: reconnectAfterExpiry,
      overdue: disconnect,
    },
  };

  return (link, event, functions) => {
    // The table pairs each event type with its handler; a lookup by type cannot express that.
    const handler = table[link.phase][event.type] as AnyHandler;
    return handler(link, event, functions);
  };
}

/** Compares a `welcome` with the pinned identity: a different server cannot be verified. */
function alarmAbout(
  link: AgentLink<unknown>,
  { signingKey, handovers = [], tenant, device }: WelcomeIdentity,
  verify: VerifyText,
): LinkAlarm | undefined {
  if (link.signingKey !== undefined && !leadsTo(link.signingKey, signingKey, handovers, verify)) return "signing_key";
  if (link.tenant !== undefined && tenant !== undefined && link.tenant !== tenant) return "tenant";
  return device === undefined || link.agent === device ? undefined : "device";
}

function greet<Configuration, Reason>(link: AgentLink<Configuration>): AgentLinkStep<Configuration, Reason> {
  const { enforced, latest } = link;
  return { link: { ...link, phase: "greeting" }, outputs: [{ do: "hello", enforced, latest }] };
}

/** The server is not the one that the agent first connected to: the agent waits long before it tries again. */
function leaveAlarmed<Configuration, Reason>(
  link: AgentLink<Configuration>,
  about: LinkAlarm,
  random: number,
): AgentLinkStep<Configuration, Reason> {
  const left = reconnectLater<Configuration, Reason>(link, random, longestDelayMs);
  return { link: left.link, outputs: [{ do: "alarm", about }, ...left.outputs] };
}

function reconnectLater<Configuration, Reason>(
  link: AgentLink<Configuration>,
  random: number,
  notBeforeMs = 0,
): AgentLinkStep<Configuration, Reason> {
  return {
    link: { ...link, phase: "away", attempts: link.attempts + 1 },
    outputs: [{ do: "close" }, { do: "wait", delayMs: notBeforeMs + reconnectDelayMs(link.attempts, random) }],
  };
}
