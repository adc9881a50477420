/** The gateway's link over a WebSocket. */

import { isSignedBy, sha256 } from "@gatehouse/agent-core/crypto/signatures";
import { LinkClient, type LinkClientKind, type LinkClientOptions } from "@gatehouse/agent-core/link/link-client";
import type { AgentKeys } from "@gatehouse/agent-core/wireguard/wireguard-key";
import {
  enforcedConfiguration,
  type GatewayConfiguration,
  gatewayAgentLink,
  incompleteConfiguration,
} from "@gatehouse/agent-protocol/gateway/agent-link";
import { configurationFormat, type SignedConfiguration } from "@gatehouse/agent-protocol/gateway/configuration";
import { contentOf, contentTreeOf } from "@gatehouse/agent-protocol/gateway/content-tree";
import {
  type Difference,
  type FailureReason,
  type Goodbye,
  gatewayLinkPath,
  gatewayLinkSubprotocols,
  longestWarning,
  type PeerReport,
  serverFrames,
  type Whole,
} from "@gatehouse/agent-protocol/gateway/frames";
import { newAgentLink } from "@gatehouse/agent-protocol/link/agent-link";
import { type ConfigurationName, configurationName } from "@gatehouse/agent-protocol/link/envelope";
import type { SigningKeyHandover } from "@gatehouse/agent-protocol/link/signing-key-handover";
import type { Outcome, Report } from "../agent-parts.ts";
import type { Trust } from "../configuration/verify-configuration.ts";

/** The agent's methods that the link calls. */
export interface LinkedAgent {
  /** The latest configuration that the machine accepted, even if it is not enforced completely; undefined if none. */
  readonly configuration: SignedConfiguration | undefined;
  /** The configuration that is enforced completely; undefined if none. */
  readonly enforces: ConfigurationName | undefined;
  applyConfiguration(given: unknown): Promise<Outcome>;
  trustSigningKey(signingKey: string, handovers: readonly SigningKeyHandover[]): Promise<void>;
  report(): Promise<Report>;
}

export interface GatewayLinkOptions extends LinkClientOptions {
  readonly agent: LinkedAgent;
  /** The state that the agent persisted: the pinned identity and the enforced configuration. */
  readonly state: { readonly trust?: Trust | undefined; readonly configuration?: SignedConfiguration | undefined };
  /** The keys of the WireGuard interface. */
  readonly keys: AgentKeys;
  readonly agentVersion: string;
}

/** The limits of a heartbeat's lists. */
const mostPeers = 1_000;
const mostWarnings = 8;

const remedies: Partial<Record<Goodbye["reason"], string>> = {
  token_revoked: "The token was replaced. Put the new token into the token file.",
  gateway_gone: "The gateway was deleted. Stop its agent.",
  key_refused:
    "The control plane refused the WireGuard key. If the machine was cloned, delete the state folder and restart the agent. If the key is new, reset the gateway's key in Gatehouse. The gateway's error has the reason.",
  replaced: "Another agent is connected with this gateway's token. Stop one of them.",
};

type Configure = Whole | Difference;
type Reason = Exclude<FailureReason, "not_applied">;

export class GatewayLink extends LinkClient<Configure, Configure, GatewayConfiguration, Reason, Report> {
  constructor(options: GatewayLinkOptions) {
    const { trust, configuration } = options.state;
    const enforced =
      configuration === undefined
        ? undefined
        : {
            name: configurationName(configuration.envelope.header, sha256),
            configuration: { envelope: configuration.envelope, content: contentTreeOf(configuration.content) },
          };
    const { gateway: agent, tenant, signingKey, latest } = trust ?? {};
    super(gatewayKind(options), newAgentLink({ agent, tenant, signingKey, latest, enforced }), options);
  }
}

function gatewayKind({
  agent,
  keys,
  agentVersion,
}: GatewayLinkOptions): LinkClientKind<Configure, Configure, GatewayConfiguration, Reason, Report> {
  /** The last report of each peer on this link. */
  let reported = new Map<string, string>();

  /** Returns the peers that changed since their last report. Those beyond the limit wait for later heartbeats. */
  function changed(peers: readonly PeerReport[]): PeerReport[] {
    const changes: PeerReport[] = [];
    for (const peer of peers) {
      const text = JSON.stringify(peer);
      if (changes.length === mostPeers || reported.get(peer.peer) === text) continue;
      reported.set(peer.peer, text);
      changes.push(peer);
    }
    return changes;
  }

  return {
    path: gatewayLinkPath,
    subprotocols: gatewayLinkSubprotocols,
    frames: serverFrames,
    tokenRemedy: "Put the gateway's current token into the token file. If the gateway was deleted, stop the agent.",
    step: gatewayAgentLink(sha256, isSignedBy),
    messageIn: (frame) => frame,
    hello: (enforced, latest) => {
      const envelope = agent.configuration?.envelope;
      // Without traffic rules, or with a part of them, the gateway does not drop everything.
      const isComplete = envelope === undefined || (enforced !== undefined && agent.enforces !== undefined);
      const enforces = isComplete ? enforcedConfiguration(enforced, latest) : incompleteConfiguration(envelope, sha256);
      return { type: "hello", agentVersion, publicKey: keys.publicKey, enforces, format: configurationFormat };
    },
    prove: (challenge) => keys.prove("gateway", challenge),
    keys,
    refusedKey: "key_refused",
    apply: ({ envelope, content }) => agent.applyConfiguration({ envelope, content: contentOf(content) }),
    pin: ({ signingKey, handovers = [] }) => agent.trustSigningKey(signingKey, handovers),
    opened: () => {
      reported = new Map();
    },
    report: () => agent.report(),
    heartbeat: (report, roundTripTimeMs) => {
      const warnings = (report?.warnings ?? []).slice(0, mostWarnings).map((text) => text.slice(0, longestWarning));
      return {
        ...(report === undefined ? {} : { load: report.load }),
        ...(roundTripTimeMs === undefined ? {} : { roundTripTimeMs }),
        peers: changed(report?.peers ?? []),
        ...(warnings.length === 0 ? {} : { warnings }),
      };
    },
    remedies,
    alarms: {
      signing_key: "If the control plane was set up again, empty the state folder and restart the agent.",
      tenant: "Check that the token belongs to this gateway.",
      device: "Check that the token belongs to this gateway.",
    },
  };
}
