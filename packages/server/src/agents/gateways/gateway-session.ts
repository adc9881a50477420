import { type ConfigurationHeader, configurationFormat } from "@gatehouse/agent-protocol/gateway/configuration";
import type { ContentTree } from "@gatehouse/agent-protocol/gateway/content-tree";
import { signedText } from "@gatehouse/agent-protocol/gateway/envelope";
import type {
  Applied,
  EnforcedConfiguration,
  Failed,
  FailureReason,
  Goodbye,
} from "@gatehouse/agent-protocol/gateway/frames";
import {
  type OfferedConfiguration,
  openServerLink,
  type ServerLink,
  type ServerLinkEvent,
  type ServerLinkFunctions,
  type ServerLinkOutput,
  stepServerLink,
  type WantedConfiguration,
} from "@gatehouse/agent-protocol/gateway/server-link";
import { configurationName } from "@gatehouse/agent-protocol/link/envelope";
import type { HashText } from "@gatehouse/agent-protocol/link/hash-tree";
import type { SigningKey } from "../../agent-identity/signing-keys.ts";
import type { Clock } from "../../platform/clock.ts";
import type { AgentSession } from "../channel/agent-connection.ts";
import { answerTimeoutMs, issueTime, RefusalBackoff } from "../channel/configuration-timing.ts";

export interface GatewaySessionParts {
  readonly tenantId: string;
  readonly gatewayId: string;
  readonly key: SigningKey;
  readonly sha256: HashText;
  readonly clock: Clock;
  /** Sends a configuration. Messages keep their order. */
  readonly send: (message: OfferedConfiguration) => void;
  readonly listener: GatewaySessionListener;
}

export interface GatewaySessionListener {
  sent(generation: number, root: string): void;
  /** The gateway reports that it enforces a configuration. */
  applied(enforced: EnforcedConfiguration, content: ContentTree | undefined): void;
  failed(reason: FailureReason, message: string): void;
  /** The connection is to be ended. */
  ended(reason: Goodbye["reason"]): void;
}

/**
 * The configurations of one connected gateway: the protocol's state machine (agent-protocol, `gateway/server-
 * link.ts`) with a signing key, a clock and a listener. It sends through `send`; events arrive as calls.
 */
export class GatewaySession implements AgentSession {
  readonly #parts: GatewaySessionParts;
  readonly #functions: ServerLinkFunctions;
  readonly #backoff = new RefusalBackoff();
  #link: ServerLink;
  /** When a configuration was last sent, by `clock.elapsedMs()`. */
  #sentAt = 0;

  constructor(parts: GatewaySessionParts, wanted: WantedConfiguration) {
    const { sha256 } = parts;
    this.#parts = parts;
    this.#link = openServerLink(wanted);
    this.#functions = { sha256, seal: (...sealed) => this.#seal(...sealed) };
  }

  get isSettled(): boolean {
    return this.#link.phase === "settled";
  }

  /** @param held the content that the gateway reports to enforce, if this replica knows it */
  hello(enforces: EnforcedConfiguration | null, held: ContentTree | undefined): void {
    this.#step({ type: "hello", enforces, held });
    if (this.isSettled && enforces !== null) this.#parts.listener.applied(enforces, this.#link.enforced?.content);
  }

  /** Replaces the desired content. Earlier content that was not sent is skipped. */
  want(wanted: WantedConfiguration): void {
    const wasRefused = this.#link.phase === "refused";
    this.#step({ type: "wanted", wanted });
    const { enforced } = this.#link;
    if (!wasRefused || !this.isSettled || enforced === undefined) return;
    // The refused change was reverted, so the gateway enforces the desired configuration again and has no error.
    const { name, root, expiresAt, content } = enforced;
    this.#parts.listener.applied({ ...name, root, expiresAt }, content);
  }

  applied({ configuration }: Applied): void {
    this.#step({ type: "applied", configuration });
  }

  failed({ configuration, reason, message }: Failed): void {
    this.#step({ type: "failed", configuration, reason, message });
  }

  tick(): void {
    const now = this.#parts.clock.elapsedMs();
    if (this.#link.phase === "in-flight" && now - this.#sentAt > answerTimeoutMs) this.#step({ type: "overdue" });
    else if (this.#backoff.isDue(now)) this.#step({ type: "retry" });
  }

  #step(event: ServerLinkEvent): void {
    const before = this.#link;
    const { link, outputs } = stepServerLink(before, event, this.#functions);
    this.#link = link;
    for (const output of outputs) this.#perform(output, before.inFlight);
    if (link.phase !== "refused") {
      if (event.type === "wanted") this.#backoff.reset();
    } else if (event.type === "failed") this.#backoff.refused(this.#parts.clock.elapsedMs());
  }

  /** @param answered the configuration that was in flight before the event */
  #perform(output: ServerLinkOutput, answered: ServerLink["inFlight"]): void {
    const { listener, send, clock } = this.#parts;
    switch (output.do) {
      case "report-applied": {
        if (answered === undefined) return;
        const { name, root, expiresAt, content } = answered;
        this.#backoff.reset();
        listener.applied({ ...name, root, expiresAt }, content);
        return;
      }
      case "report-failed":
        listener.failed(output.reason, output.message);
        return;
      case "send": {
        const { generation, root } = output.message.envelope.header;
        this.#sentAt = clock.elapsedMs();
        send(output.message);
        listener.sent(generation, root);
        return;
      }
      case "close":
        listener.ended(output.reason);
    }
  }

  #seal(
    ...[{ generation, expiresAt }, root, latest]: Parameters<ServerLinkFunctions["seal"]>
  ): ReturnType<ServerLinkFunctions["seal"]> {
    const { tenantId, gatewayId, key, sha256, clock } = this.#parts;
    const header: ConfigurationHeader = {
      format: configurationFormat,
      tenant: tenantId,
      gateway: gatewayId,
      generation,
      issuedAt: issueTime(latest, generation, clock.now().getTime()),
      expiresAt,
      root,
    };
    return { header, signature: key.sign(signedText(configurationName(header, sha256))) };
  }
}
