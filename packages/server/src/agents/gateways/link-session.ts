/**
 * One connection of a gateway that said hello: the machine of the server's end (contract, `gateway-link/server-link.ts`) with a key, a clock and
 * somebody to tell. What it sends goes out through `send`, and what happens comes in as calls.
 */
import { type ConfigurationHeader, configurationFormat } from "@gatehouse/agent-protocol/gateway/configuration";
import type { ContentTree } from "@gatehouse/agent-protocol/gateway/content-tree";
import { signedText } from "@gatehouse/agent-protocol/gateway/envelope";
import type {
  Applied,
  EnforcedConfiguration,
  Failed,
  FailureReason,
  Goodbye,
  ServerMessage,
} from "@gatehouse/agent-protocol/gateway/frames";
import {
  openServerLink,
  type ServerLink,
  type ServerLinkEvent,
  type ServerLinkFunctions,
  stepServerLink,
} from "@gatehouse/agent-protocol/gateway/server-link";
import { configurationName } from "@gatehouse/agent-protocol/link/envelope";
import type { HashText } from "@gatehouse/agent-protocol/link/hash-tree";
import type { SigningKey } from "../channel/signing-keys.ts";

/** After a configuration was refused, the same is offered again after this long at first, and at most, in milliseconds (SPEC.md). */
const firstRetryMs = 30_000;
const longestRetryMs = 10 * 60_000;
/** Whoever does not answer a configuration for this long is let go, in milliseconds (SPEC.md). */
const longestAnswerMs = 60_000;

export interface Wanted {
  readonly content: ContentTree;
  /** Of the tenant. */
  readonly generation: number;
  /** Milliseconds since 1970: what is signed now ends then. */
  readonly expiresAt: number;
  /** Milliseconds since 1970: what ends before is signed anew. */
  readonly lastsUntil: number;
}

export interface SessionParts {
  readonly tenantId: string;
  readonly gatewayId: string;
  readonly key: SigningKey;
  readonly sha256: HashText;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Sends a message whole; messages keep their order. */
  readonly send: (message: ServerMessage) => void;
  readonly told: SessionListener;
}

export interface SessionListener {
  /** A configuration is on its way. */
  sent(generation: number, root: string): void;
  /** It is enforced, by the gateway's own account. */
  applied(enforced: EnforcedConfiguration, content: ContentTree | undefined): void;
  failed(reason: FailureReason, message: string): void;
  /** The link is of no more use. */
  ended(reason: Goodbye["reason"]): void;
}

export class LinkSession {
  readonly #parts: SessionParts;
  readonly #functions: ServerLinkFunctions;
  #link: ServerLink;
  #expiresAt: number;
  #sentAt = 0;
  #retry: { readonly at: number; readonly waitMs: number } | undefined;

  constructor(parts: SessionParts, wanted: Wanted) {
    const { sha256 } = parts;
    this.#parts = parts;
    this.#link = openServerLink(wanted);
    this.#expiresAt = wanted.expiresAt;
    this.#functions = { sha256, seal: (...sealed) => this.#seal(...sealed) };
  }

  /** Whether what is wanted is enforced. */
  get isSettled(): boolean {
    return this.#link.phase === "settled";
  }

  get enforcedRoot(): string | undefined {
    return this.#link.enforced?.root;
  }

  /** @param held the content that the gateway says it enforces, where it is known */
  hello(enforces: EnforcedConfiguration | null, held: ContentTree | undefined): void {
    this.#step({ type: "hello", enforces, held });
    if (this.isSettled && enforces !== null) this.#parts.told.applied(enforces, this.#link.enforced?.content);
  }

  /** From now on this is wanted, and nothing that was wanted before and has not been sent. */
  want(wanted: Wanted): void {
    this.#expiresAt = wanted.expiresAt;
    this.#step({ type: "wanted", wanted });
  }

  applied({ configuration }: Applied): void {
    this.#step({ type: "applied", configuration });
  }

  failed({ configuration, reason, message }: Failed): void {
    this.#step({ type: "failed", configuration, reason, message });
  }

  /** Does what time alone brings. */
  tick(): void {
    const now = this.#parts.now();
    if (this.#link.phase === "in-flight" && now - this.#sentAt > longestAnswerMs) this.#step({ type: "overdue" });
    else if (this.#retry !== undefined && now >= this.#retry.at) this.#step({ type: "retry" });
  }

  #step(event: ServerLinkEvent): void {
    const { told, send, now } = this.#parts;
    const { link, outputs } = stepServerLink(this.#link, event, this.#functions);
    const before = this.#link;
    this.#link = link;
    for (const output of outputs) {
      switch (output.do) {
        case "report-applied": {
          const held = before.inFlight;
          if (held === undefined) break;
          this.#retry = undefined;
          const { name, root, expiresAt, content } = held;
          told.applied({ ...name, root, expiresAt }, content);
          break;
        }
        case "report-failed":
          told.failed(output.reason, output.message);
          break;
        case "send":
          this.#sentAt = now();
          send(output.message);
          told.sent(output.message.envelope.header.generation, output.message.envelope.header.root);
          break;
        case "close":
          told.ended(output.reason);
          break;
      }
    }
    if (link.phase !== "refused") {
      if (event.type === "wanted") this.#retry = undefined;
    } else if (event.type === "failed") {
      const waitMs = Math.min(this.#retry === undefined ? firstRetryMs : this.#retry.waitMs * 2, longestRetryMs);
      this.#retry = { at: now() + waitMs, waitMs };
    }
  }

  /** Later than what the gateway has, whatever the clocks of replicas say. */
  #seal(
    ...[{ generation }, root, after]: Parameters<ServerLinkFunctions["seal"]>
  ): ReturnType<ServerLinkFunctions["seal"]> {
    const { tenantId, gatewayId, key, sha256, now } = this.#parts;
    const header: ConfigurationHeader = {
      format: configurationFormat,
      tenant: tenantId,
      gateway: gatewayId,
      generation,
      issuedAt: after?.generation === generation ? Math.max(now(), after.issuedAt + 1) : now(),
      expiresAt: this.#expiresAt,
      root,
    };
    return { header, signature: key.sign(signedText(configurationName(header, sha256))) };
  }
}
