import { type AgentMessage, agentFrames, type Goodbye } from "@gatehouse/agent-protocol/gateway/frames";
import type { LinkVersion } from "@gatehouse/agent-protocol/link/greeting";
import type { LinkToken } from "@gatehouse/agent-protocol/link/key-proof";
import type { LinkTransport } from "../../platform/link-transport.ts";
import {
  AgentConnection,
  type ConnectionKind,
  type PresentedAgent,
  sharedCloseCodes,
} from "../channel/agent-connection.ts";
import { frameChecks } from "../channel/frame-reader.ts";
import type { GatewaySession } from "./gateway-session.ts";

export interface PresentedGateway extends PresentedAgent {
  /** When the token expires, in milliseconds since 1970; undefined for the gateway's current token. */
  readonly tokenEndsAt: number | undefined;
}

export type GatewayReason = Goodbye["reason"];

const kind: ConnectionKind<GatewayReason> = {
  checks: frameChecks(agentFrames),
  closeCodes: { ...sharedCloseCodes, token_revoked: 4401, key_refused: 4403, gateway_gone: 4404 },
};

/** One open connection of a gateway. */
export class GatewayConnection extends AgentConnection<AgentMessage, GatewayReason, PresentedGateway, GatewaySession> {
  #tokenEndsAt: number;
  /** Starts the session, once the content that the gateway should enforce is known. */
  greet: (() => void) | undefined;
  /** Whether the connection became, or becomes, the current one of its gateway. Refused connections do not. */
  isClaimed = false;
  /** The earliest generation of a configuration that the agent accepts after the one in its hello. */
  agentGeneration = 0;
  /** The root of the content that the gateway should enforce. */
  wantedRoot: string | undefined;
  /** Since when the gateway lags behind that content, by `clock.elapsedMs()`; undefined if it does not. */
  wantedSince: number | undefined;

  constructor(
    agent: PresentedGateway,
    transport: LinkTransport,
    sourceAddress: string,
    version: LinkVersion,
    now: number,
  ) {
    super({ kind, agent, transport, sourceAddress, version, now });
    this.#tokenEndsAt = agent.tokenEndsAt ?? Number.POSITIVE_INFINITY;
  }

  /** When the token expires, in milliseconds since 1970; Infinity for the gateway's current token. */
  get tokenEndsAt(): number {
    return this.#tokenEndsAt;
  }

  /** Only the gateway's current token has no time of expiry. */
  get token(): LinkToken {
    return this.#tokenEndsAt === Number.POSITIVE_INFINITY ? "current" : "former";
  }

  /**
   * Records when the token expires. No rotation makes a token valid for longer.
   *
   * @param at milliseconds since 1970
   * @returns the earliest expiry that is known
   */
  tokenEndsBy(at: number): number {
    this.#tokenEndsAt = Math.min(this.#tokenEndsAt, at);
    return this.#tokenEndsAt;
  }
}
