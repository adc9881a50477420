/**
 * The agent's end of a link: the state machine of the agent protocol with a socket, a clock and an agent. The agent
 * verifies each configuration again; it trusts neither the server nor this module.
 */
import type {
  AgentLink,
  AgentLinkEvent,
  AgentLinkFunctions,
  AgentLinkOutput,
  LinkAlarm,
  StepAgentLink,
  VerifiedConfiguration,
  WelcomeIdentity,
} from "@gatehouse/agent-protocol/link/agent-link";
import type { ConfigurationName } from "@gatehouse/agent-protocol/link/envelope";
import {
  type HeartbeatAnswer,
  heartbeatIntervalMs,
  heartbeatTimeoutMs,
  longestRoundTripMs,
} from "@gatehouse/agent-protocol/link/frames";
import type { Challenge, KeyProof } from "@gatehouse/agent-protocol/link/key-proof";
import type { Clock } from "../clock.ts";
import { isSignedBy, sha256 } from "../crypto/signatures.ts";
import type { Log } from "../log.ts";
import type { AgentKeys } from "../wireguard/wireguard-key.ts";
import { FrameSocket, type FrameSocketOptions } from "./frame-socket.ts";
import { clockErrorMinutes } from "./link-messages.ts";

/** Frames that every server sends. */
type CommonFrame =
  | Challenge
  | ({ readonly type: "welcome"; readonly heartbeatIntervalMs: number; readonly now: number } & WelcomeIdentity)
  | HeartbeatAnswer
  | { readonly type: "goodbye"; readonly reason: string; readonly retryAfterMs?: number };

/** The differences between the links of gateways and devices. */
export interface LinkClientKind<Frame, Message, Configuration, Reason, Report>
  extends Pick<FrameSocketOptions<never>, "path" | "subprotocols" | "frames" | "tokenRemedy"> {
  readonly step: StepAgentLink<Message, Configuration, Reason>;
  /** Returns the frame's configuration message; undefined for another frame of this kind of link, which it handles. */
  readonly messageIn: (frame: Frame) => Message | undefined;
  /** @param latest the latest configuration that was ever enforced; it may have expired */
  readonly hello: (
    enforced: VerifiedConfiguration<Configuration> | undefined,
    latest: ConfigurationName | undefined,
  ) => object;
  /** Answers a challenge. @throws Error if it cannot be answered safely */
  readonly prove: (challenge: Challenge) => KeyProof;
  readonly apply: (configuration: Configuration) => Promise<{ readonly state: "applied" } | Failure>;
  /** Persists the identity of the server. @throws Error if another one is pinned */
  readonly pin: (identity: WelcomeIdentity) => Promise<void>;
  /** The keys that `prove` uses. */
  readonly keys: Pick<AgentKeys, "accepted" | "refused">;
  /** The reason of the goodbye that follows a refused key. */
  readonly refusedKey: string;
  /** Called when the link opens. */
  readonly opened?: () => void;
  /** Reads the state that heartbeats report. */
  readonly report: () => Promise<Report>;
  /** Returns a heartbeat's fields. The report is undefined if it could not be read. */
  readonly heartbeat: (report: Report | undefined, roundTripTimeMs: number | undefined) => object;
  /** Remedies for a person after a goodbye, by the goodbye's reason. */
  readonly remedies: Readonly<Partial<Record<string, string>>>;
  /** Remedies for a person if the server is not the pinned one. */
  readonly alarms: Readonly<Record<LinkAlarm, string>>;
}

interface Failure {
  readonly state: "failed";
  readonly message: string;
}

export interface LinkClientOptions {
  /** `https://…` of the control plane; `http://` only if nothing but this machine is in between. */
  readonly url: string;
  /** Read for each connection, so that a token can be replaced without a restart. */
  readonly token: () => Promise<string>;
  readonly clock: Clock;
  readonly log: Log;
  readonly random?: () => number;
}

export class LinkClient<Frame extends { readonly type: string }, Message, Configuration, Reason, Report> {
  readonly #kind: LinkClientKind<Frame, Message, Configuration, Reason, Report>;
  readonly #options: LinkClientOptions;
  readonly #functions: AgentLinkFunctions;
  readonly #socket: FrameSocket<Frame | CommonFrame>;
  #link: AgentLink<Configuration>;
  #cancelWait: (() => void) | undefined;
  #cancelHeartbeat: (() => void) | undefined;
  #heartbeatMs = heartbeatIntervalMs;
  #sequence = 0;
  /** When the latest heartbeat was sent, by `clock.elapsedMs()`. */
  #sentAt = 0;
  /** Time of the last frame, by the wall clock, which advances while the machine sleeps. */
  #heardAt = 0;
  /** The round-trip time on the current connection. */
  #roundTripTimeMs: number | undefined;
  /** A configuration can be verified only after the key that signed it was pinned. */
  #pinned: Promise<void> = Promise.resolve();
  #rejection: string | undefined;
  #isStopped = false;

  constructor(
    kind: LinkClientKind<Frame, Message, Configuration, Reason, Report>,
    link: AgentLink<Configuration>,
    options: LinkClientOptions,
  ) {
    const { url, token, clock, log, random = Math.random } = options;
    const { path, subprotocols, frames, tokenRemedy } = kind;
    this.#kind = kind;
    this.#options = options;
    this.#link = link;
    this.#functions = { sha256, verify: isSignedBy, now: () => clock.now(), random };
    this.#socket = new FrameSocket({
      url,
      path,
      subprotocols,
      frames,
      token,
      tokenRemedy,
      log,
      connected: () => {
        this.#heardAt = clock.now();
        this.#roundTripTimeMs = undefined;
        this.#step({ type: "connected" });
        this.#checkAndSendHeartbeat();
      },
      heard: (frame) => this.#handle(frame),
      rejected: () => {
        this.#rejection = tokenRemedy;
      },
      violated: () => this.#step({ type: "overdue" }),
      cut: () => {
        this.#cancelHeartbeat?.();
        this.#step({ type: "cut" });
      },
    });
  }

  /** Connects, and reconnects whenever the link is lost, until it is stopped. */
  start(): void {
    this.#step({ type: "retry" });
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancelWait?.();
    this.#cancelHeartbeat?.();
    this.#socket.stop();
  }

  /** Whether the control plane has admitted this agent on the current connection. */
  get isOpen(): boolean {
    return this.#link.phase === "open" && this.#socket.connection !== undefined;
  }

  /** The remedy after the control plane refused this agent; undefined: it admitted the agent, or was not reached. */
  get rejection(): string | undefined {
    return this.#rejection;
  }

  /** The subprotocol of the current connection, or undefined. */
  get subprotocol(): string | undefined {
    return this.#socket.subprotocol;
  }

  /** Sends a message of this kind of link, if the link is open. */
  protected say(message: object): void {
    if (this.isOpen) this.#socket.say(message);
  }

  /** Reconnects, so that `hello` reports the current state. */
  reconnect(): void {
    this.#step({ type: "overdue" });
  }

  /** The enforced configuration has expired. */
  expired(): void {
    this.#step({ type: "expired" });
  }

  #step(event: AgentLinkEvent<Message>): void {
    const { link, outputs } = this.#kind.step(this.#link, event, this.#functions);
    this.#link = link;
    for (const output of outputs) this.#perform(output);
  }

  #perform(output: AgentLinkOutput<Configuration, Reason>): void {
    switch (output.do) {
      case "connect":
        void this.#socket.connect();
        break;
      case "hello":
        this.#socket.say(this.#kind.hello(output.enforced, output.latest));
        break;
      case "prove":
        this.#prove(output.challenge);
        break;
      case "send":
        this.#socket.say(output.message);
        break;
      case "apply":
        void this.#apply(output.configuration);
        break;
      case "pin":
        this.#pinned = this.#pin(output.identity);
        break;
      case "alarm":
        this.#options.log("server is not the pinned one; its configurations are ignored", {
          mismatch: output.about,
          remedy: this.#kind.alarms[output.about],
        });
        break;
      case "close":
        this.#cancelHeartbeat?.();
        this.#socket.leave();
        break;
      case "wait":
        this.#wait(output.delayMs);
        break;
    }
  }

  #handle(frame: Frame | CommonFrame): void {
    const { clock, log } = this.#options;
    this.#heardAt = clock.now();
    if (!isCommon(frame)) {
      const message = this.#kind.messageIn(frame);
      if (message !== undefined) this.#step({ type: "configuration", message });
    } else if (frame.type === "challenge") {
      this.#step({ type: "challenge", message: frame });
    } else if (frame.type === "welcome") {
      this.#step({ type: "welcome", message: frame });
      if (this.#link.phase !== "open") return;
      this.#rejection = undefined;
      this.#warnOfClock(frame.now);
      this.#heartbeatMs = frame.heartbeatIntervalMs;
      void this.#acceptKey();
      this.#kind.opened?.();
      this.#checkAndSendHeartbeat();
    } else if (frame.type === "heartbeat-answer") {
      if (frame.sequence === this.#sequence) this.#measureRoundTrip();
    } else {
      const remedy = this.#kind.remedies[frame.reason];
      log("control plane closed the link", { reason: frame.reason, remedy });
      this.#rejection = remedy ?? this.#rejection;
      if (frame.reason === this.#kind.refusedKey) this.#kind.keys.refused();
      this.#step({ type: "goodbye", message: frame });
    }
  }

  #measureRoundTrip(): void {
    const elapsedMs = this.#options.clock.elapsedMs() - this.#sentAt;
    this.#roundTripTimeMs = Math.min(Math.round(elapsedMs), longestRoundTripMs);
  }

  #prove(challenge: Challenge): void {
    try {
      this.#socket.say(this.#kind.prove(challenge));
    } catch (err) {
      this.#options.log("failed to prove the WireGuard key; reconnecting", { err });
      this.#step({ type: "overdue" });
    }
  }

  async #acceptKey(): Promise<void> {
    try {
      await this.#kind.keys.accepted();
    } catch (err) {
      this.#options.log("failed to store which WireGuard key is in use; will retry at the next connection", { err });
    }
  }

  #warnOfClock(theirs: number): void {
    const minutesAhead = clockErrorMinutes(theirs, this.#options.clock.now());
    if (minutesAhead === undefined) return;
    this.#options.log("clock of this machine differs from the control plane's; synchronize it with NTP", {
      minutesAhead,
    });
  }

  async #apply(configuration: Configuration): Promise<void> {
    await this.#pinned;
    const outcome = await this.#kind.apply(configuration);
    this.#step(outcome.state === "applied" ? { type: "applied" } : { type: "failed", message: outcome.message });
  }

  async #pin(identity: WelcomeIdentity): Promise<void> {
    try {
      await this.#kind.pin(identity);
    } catch (err) {
      this.#options.log("failed to pin the signing key", { err });
      this.#step({ type: "overdue" });
    }
  }

  /** Sends a heartbeat if the link is open. In every phase, disconnects from a server that no longer answers. */
  #checkAndSendHeartbeat(): void {
    const { clock, log } = this.#options;
    this.#cancelHeartbeat?.();
    if (this.#isStopped || this.#socket.connection === undefined) return;
    // A clock that was set back must not extend the timeout.
    this.#heardAt = Math.min(this.#heardAt, clock.now());
    if (clock.now() - this.#heardAt > heartbeatTimeoutMs) {
      log("control plane does not answer; reconnecting", { timeoutMs: heartbeatTimeoutMs });
      this.#step({ type: "overdue" });
      return;
    }
    if (this.#link.phase === "open") void this.#sendHeartbeat();
    this.#cancelHeartbeat = clock.after(this.#heartbeatMs, () => this.#checkAndSendHeartbeat());
  }

  async #sendHeartbeat(): Promise<void> {
    const { clock, log } = this.#options;
    const { connection } = this.#socket;
    const report = await this.#kind.report().catch((err: unknown) => {
      log("failed to read the state of the tunnel", { err });
      return undefined;
    });
    if (connection !== this.#socket.connection) return;
    this.#sequence += 1;
    this.#sentAt = clock.elapsedMs();
    const fields = this.#kind.heartbeat(report, this.#roundTripTimeMs);
    this.#socket.say({ type: "heartbeat", sequence: this.#sequence, ...fields });
  }

  #wait(delayMs: number): void {
    if (this.#isStopped) return;
    this.#cancelWait?.();
    this.#cancelWait = this.#options.clock.after(delayMs, () => this.#step({ type: "retry" }));
  }
}

const commonTypes: ReadonlySet<string> = new Set<CommonFrame["type"]>([
  "challenge",
  "welcome",
  "heartbeat-answer",
  "goodbye",
]);

function isCommon<Frame extends { readonly type: string }>(frame: Frame | CommonFrame): frame is CommonFrame {
  return commonTypes.has(frame.type);
}
