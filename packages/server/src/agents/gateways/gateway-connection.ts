/** One open connection of a gateway, and what it said so far. */
import { type AgentMessage, agentFrames, type Goodbye } from "@gatehouse/agent-protocol/gateway/frames";
import type { LinkTransport } from "../../platform/link-transport.ts";
import { frameChecks } from "../channel/frame-reader.ts";
import { LinkConnection, type LinkKind, sharedCloseCodes } from "../channel/link-connection.ts";
import type { LinkSession } from "./link-session.ts";
import type { PresentedGateway } from "./presented-gateway.ts";

const kind: LinkKind<Goodbye["reason"]> = {
  checks: frameChecks(agentFrames),
  closeCodes: { ...sharedCloseCodes, token_revoked: 4401, gateway_gone: 4404 },
};

export class GatewayConnection extends LinkConnection<AgentMessage, Goodbye["reason"]> {
  readonly gateway: PresentedGateway;
  /** Where it comes from. */
  readonly sourceAddress: string;
  /** Makes the session of a connection that was taken in, once it is known what its gateway should enforce. */
  greet: (() => void) | undefined;
  session: LinkSession | undefined;
  /** Of what its agent enforced when it said hello. */
  agentGeneration = 0;
  wantedRoot: string | undefined;
  wantedSince: number | undefined;

  constructor(gateway: PresentedGateway, transport: LinkTransport, sourceAddress: string, now: number) {
    super(kind, transport, now);
    this.gateway = gateway;
    this.sourceAddress = sourceAddress;
  }
}
