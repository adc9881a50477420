/** The device's end of a link as a machine without time, sockets or a kernel: SPEC.md. */

import type { DeviceConfiguration } from "@gatehouse/contract/records/device-configuration";
import { reconnectDelayMs } from "../gateway/agent-link.ts";
import type { ConfigurationName } from "../link/envelope.ts";
import { configurationName } from "../link/envelope.ts";
import type { DeviceConfigurationHeader, SignedDeviceConfiguration } from "./configuration.ts";
import { type DeviceFunctions, deviceConfigurationFault, type UnreadConfiguration } from "./envelope.ts";
import type { DeviceApplied, DeviceFailed, DeviceFailureReason, DeviceGoodbye, DeviceWelcome } from "./frames.ts";

/** A configuration that was verified. */
export interface VerifiedDeviceConfiguration {
  readonly configuration: SignedDeviceConfiguration;
  readonly name: ConfigurationName;
}

export const deviceAgentLinkPhases = ["away", "connecting", "settling", "greeting", "open"] as const;
export type DeviceAgentLinkPhase = (typeof deviceAgentLinkPhases)[number];

export interface DeviceAgentLink {
  readonly phase: DeviceAgentLinkPhase;
  /** The device that this is enrolled as. */
  readonly device: string;
  /** The tenant, and its key, from the first meeting on. */
  readonly tenant: string | undefined;
  readonly signingKey: string | undefined;
  /** The latest that was ever used; it may have expired. */
  readonly latest: ConfigurationName | undefined;
  readonly used: VerifiedDeviceConfiguration | undefined;
  /** What is being applied now. */
  readonly applying: VerifiedDeviceConfiguration | undefined;
  /** How many attempts to connect have failed in a row. */
  readonly attempts: number;
}

export type DeviceAgentLinkEvent =
  | { readonly type: "connected" }
  | { readonly type: "cut" }
  | { readonly type: "retry" }
  | { readonly type: "welcome"; readonly message: DeviceWelcome }
  | { readonly type: "configuration"; readonly configuration: UnreadConfiguration }
  | { readonly type: "goodbye"; readonly message: DeviceGoodbye }
  /** What was being applied is in use now. */
  | { readonly type: "applied" }
  /** It is not; what was in use before still is. */
  | { readonly type: "failed"; readonly message: string }
  /** What was in use has expired. */
  | { readonly type: "expired" }
  /** The server has not answered for too long. */
  | { readonly type: "overdue" };

export type DeviceAgentLinkOutput =
  | { readonly do: "connect" }
  | { readonly do: "hello"; readonly uses: ConfigurationName | null }
  | { readonly do: "send"; readonly message: DeviceApplied | DeviceFailed }
  /** In one step, or not at all; then `applied` or `failed`. */
  | { readonly do: "apply"; readonly configuration: VerifiedDeviceConfiguration }
  /** For good: from now on nobody else counts. */
  | { readonly do: "pin"; readonly tenant: string; readonly signingKey: string }
  /** Somebody else answers than the one that was met first, or as another device: a person has to look. */
  | { readonly do: "alarm"; readonly about: "signing_key" | "tenant" | "device" }
  | { readonly do: "close" }
  | { readonly do: "wait"; readonly delayMs: number };

export interface DeviceAgentLinkFunctions extends DeviceFunctions {
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** From 0 up to 1, without 1. */
  readonly random: () => number;
}

export interface DeviceAgentLinkStep {
  readonly link: DeviceAgentLink;
  readonly outputs: readonly DeviceAgentLinkOutput[];
}

type EventOf<Type extends DeviceAgentLinkEvent["type"]> = Extract<DeviceAgentLinkEvent, { readonly type: Type }>;
type Handler<Type extends DeviceAgentLinkEvent["type"]> = (
  link: DeviceAgentLink,
  event: EventOf<Type>,
  functions: DeviceAgentLinkFunctions,
) => DeviceAgentLinkStep;
/** Does the same whatever happens. */
type AnyHandler = (
  link: DeviceAgentLink,
  event: DeviceAgentLinkEvent,
  functions: DeviceAgentLinkFunctions,
) => DeviceAgentLinkStep;
type Handlers = { readonly [Type in DeviceAgentLinkEvent["type"]]: Handler<Type> };

/** What a device kept from before a restart. */
export interface KeptFromBefore {
  readonly tenant?: string | undefined;
  readonly signingKey?: string | undefined;
  readonly latest?: ConfigurationName | undefined;
  readonly used?: VerifiedDeviceConfiguration | undefined;
}

/** Before the first connection. */
export function newDeviceAgentLink(device: string, kept: KeptFromBefore = {}): DeviceAgentLink {
  return {
    phase: "away",
    device,
    tenant: kept.tenant,
    signingKey: kept.signingKey,
    latest: kept.latest ?? kept.used?.name,
    used: kept.used,
    applying: undefined,
    attempts: 0,
  };
}

/** What happens to a link; each phase has an answer to each event. */
export function stepDeviceAgentLink(
  link: DeviceAgentLink,
  event: DeviceAgentLinkEvent,
  functions: DeviceAgentLinkFunctions,
): DeviceAgentLinkStep {
  // A handler takes the event that it is listed for, which a lookup by type cannot tell.
  const handler = table[link.phase][event.type] as AnyHandler;
  return handler(link, event, functions);
}

/** After a server that is not the pinned one: a person has to look, so there is no hurry. In milliseconds. */
const strangerDelayMs = 30_000;

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
const greetsAfterApplying: Handler<"applied"> = (link) => greeting(using(link));
const greetsAfterFailing: Handler<"failed"> = (link) => greeting({ ...link, applying: undefined });
const noted: Handler<"applied"> = (link) => ({ link: using(link), outputs: [] });
const forgotten: Handler<"failed"> = (link) => ({ link: { ...link, applying: undefined }, outputs: [] });
const ends: Handler<"expired"> = (link) => ({ link: { ...link, used: undefined }, outputs: [] });
/** The server was told, or is about to be, that it is in use. */
const endsAndGreetsAnew: Handler<"expired"> = (link, _, functions) =>
  leaving({ ...link, used: undefined }, 0, true, functions);

const isWelcomed: Handler<"welcome"> = (link, { message }, functions) => {
  const stranger = strangeness(link, message);
  if (stranger !== undefined) {
    const left = leaving(link, strangerDelayMs, true, functions);
    return { link: left.link, outputs: [{ do: "alarm", about: stranger }, ...left.outputs] };
  }
  const { tenant, signingKey } = message;
  const pins: readonly DeviceAgentLinkOutput[] =
    link.signingKey === undefined || link.tenant === undefined ? [{ do: "pin", tenant, signingKey }] : [];
  return { link: { ...link, phase: "open", tenant, signingKey, attempts: 0 }, outputs: pins };
};

const receives: Handler<"configuration"> = (link, { configuration }, functions) => {
  // One at a time: the server knows that the last one is not acknowledged.
  if (link.applying !== undefined) return leaving(link, 0, true, functions);
  const { device, tenant, signingKey = "", latest } = link;
  const expected = { device, tenant, signingKey, latest, now: functions.now() };
  const fault = deviceConfigurationFault(configuration, expected, functions);
  const name = configurationName(configuration.header, functions.sha256);
  if (fault !== undefined) {
    const message: DeviceFailed = { type: "failed", configuration: name, reason: fault, message: explanations[fault] };
    return { link, outputs: [{ do: "send", message }] };
  }
  if (link.used?.name.hash === name.hash) {
    return { link, outputs: [{ do: "send", message: { type: "applied", configuration: name } }] };
  }
  const verified = { configuration: asRead(configuration), name };
  return { link: { ...link, applying: verified }, outputs: [{ do: "apply", configuration: verified }] };
};

const acknowledges: Handler<"applied"> = (link) => {
  if (link.applying === undefined) return { link, outputs: [] };
  const configuration = link.applying.name;
  return { link: using(link), outputs: [{ do: "send", message: { type: "applied", configuration } }] };
};

const reports: Handler<"failed"> = (link, { message }) => {
  if (link.applying === undefined) return { link, outputs: [] };
  const failed: DeviceFailed = {
    type: "failed",
    configuration: link.applying.name,
    reason: "not_applied",
    message: message.slice(0, longestMessage),
  };
  return { link: { ...link, applying: undefined }, outputs: [{ do: "send", message: failed }] };
};

/** What `failed` has room for, in characters. */
const longestMessage = 2000;

const table: Readonly<Record<DeviceAgentLinkPhase, Handlers>> = {
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

/** For people: of each reason but the machine's, which has words of its own. */
export const explanations: Readonly<Record<Exclude<DeviceFailureReason, "not_applied">, string>> = {
  forged: "The configuration is not for this device, or not signed with the tenant's key.",
  replayed: "A later configuration was in use already.",
  expired: "The configuration has expired. Is the clock of this machine right?",
  unknown_format: "This agent does not know the configuration's format; a newer version may.",
  malformed: "The content does not have its form, or is not the one that was signed.",
};

function strangeness(link: DeviceAgentLink, message: DeviceWelcome): "signing_key" | "tenant" | "device" | undefined {
  // Somebody else's server, or one that was set up anew: nothing it says can be verified.
  if (link.signingKey !== undefined && link.signingKey !== message.signingKey) return "signing_key";
  if (link.tenant !== undefined && link.tenant !== message.tenant) return "tenant";
  return link.device === message.device ? undefined : "device";
}

function using(link: DeviceAgentLink): DeviceAgentLink {
  const used = link.applying ?? link.used;
  return { ...link, used, latest: link.applying?.name ?? link.latest, applying: undefined };
}

function greeting(link: DeviceAgentLink): DeviceAgentLinkStep {
  return { link: { ...link, phase: "greeting" }, outputs: [{ do: "hello", uses: link.used?.name ?? null }] };
}

function leaving(
  link: DeviceAgentLink,
  notBeforeMs: number,
  closes: boolean,
  { random }: DeviceAgentLinkFunctions,
): DeviceAgentLinkStep {
  const wait: DeviceAgentLinkOutput = { do: "wait", delayMs: notBeforeMs + reconnectDelayMs(link.attempts, random()) };
  return {
    link: { ...link, phase: "away", attempts: link.attempts + 1 },
    outputs: closes ? [{ do: "close" }, wait] : [wait],
  };
}

function asRead({ header, signature, content }: UnreadConfiguration): {
  readonly header: DeviceConfigurationHeader;
  readonly signature: string;
  readonly content: DeviceConfiguration;
} {
  return { header, signature, content: content as DeviceConfiguration }; // `hasForm` was asked
}
