import type { EnforcedConfiguration, FailureReason, Heartbeat, Hello } from "@gatehouse/agent-protocol/gateway/frames";
import type { KeyClaim, KeyClaimFault } from "@gatehouse/agent-protocol/link/key-proof";
import type { KeyFault } from "@gatehouse/policy/enforcement/usable-keys";
import { storableText } from "../channel/storable-text.ts";
import { discoveredAddress } from "../sources/discovered-address.ts";
import type { GatewayConnection } from "./gateway-connection.ts";
import { LinkWriter, type LinkWriterOptions } from "./link-writer.ts";

const keyFaults: Readonly<Record<KeyFault | KeyClaimFault, string>> = {
  low_order:
    "The WireGuard public key is of small order. Delete the key in the agent's state folder and restart the agent",
  not_canonical:
    "The WireGuard public key is not the canonical encoding of its point. Delete the key in the agent's state folder and restart the agent",
  key_of_device:
    "A device has this WireGuard public key. Delete the key in the agent's state folder and restart the agent",
  key_of_gateway:
    "Another gateway has this WireGuard public key, for example because a machine was cloned. Delete the key in the agent's state folder and restart the agent",
  invalid_proof: "The agent did not prove possession of this WireGuard public key. Check who has the gateway's token",
  missing_proof:
    "The agent has proved its WireGuard key before, and does not prove it now. Update the agent, or reset the gateway's key",
  replaced:
    "The agent reports a different WireGuard public key than before, without a proof of the former key. If the machine has a new key, reset the gateway's key. Otherwise, rotate the gateway's token with a grace period of 0 seconds",
  former_token:
    "The agent reports a different WireGuard public key than before, with a token that was rotated. If the machine has a new key, give its agent the current token. Otherwise, rotate the token with a grace period of 0 seconds",
};

/** The longest error of a gateway that is stored, in characters. */
const maxErrorLength = 2_000;

/** Records the events of gateway connections, as columns of `gateway_links` and as reports on the gateways' records. */
export class LinkRecorder {
  readonly #options: LinkWriterOptions;
  readonly #writer: LinkWriter;

  constructor(options: LinkWriterOptions) {
    this.#options = options;
    this.#writer = new LinkWriter(options);
  }

  /**
   * Makes a connection the current one of its gateway, and records what the gateway enforces, unless the token of the
   * connection was revoked.
   *
   * @returns when the token expires, in milliseconds since 1970; 0 if it was revoked; undefined if the gateway was
   *   deleted
   * @throws AppError database_unavailable
   */
  claim(connection: GatewayConnection, { enforces }: Hello): Promise<number | undefined> {
    const { tokenHash } = connection.agent;
    const ids = { ...idsOf(connection), replica_id: this.#options.replicaId, token_hash: tokenHash };
    const enforcesNothing = enforces === null || enforces.expiresAt === 0;
    return this.#writer.claim({ ...ids, ...(enforcesNothing ? nothingApplied : appliedColumns(enforces)) });
  }

  connected({ agent, sourceAddress }: GatewayConnection, hello: Hello, key: KeyClaim): void {
    const { agentId: gatewayId, tokenHash } = agent;
    const { endpoint = discoveredAddress(sourceAddress) } = hello;
    const heardAt = this.#sharedNow();
    const agentVersion = storableText(hello.agentVersion);
    this.#writer.heard(gatewayId, heardAt);
    this.#writer.report({ gatewayId, tokenHash, agentVersion, key, endpoint, heardAt });
  }

  /**
   * An agent reported a key that it may not have. The agent alone is refused. The gateway is in error, unless its
   * rightful agent is connected.
   */
  refusedKey(connection: GatewayConnection, publicKey: string, fault: KeyFault | KeyClaimFault): void {
    const { agentId: gatewayId } = connection.agent;
    const error = `key_refused: ${keyFaults[fault]} (${publicKey}).`;
    this.#options.log.warn({ tenantId: this.#options.tenantId, gatewayId, fault }, "refused a gateway's public key");
    this.#writer.refuse({ gatewayId, connectionId: connection.id, error, heardAt: this.#sharedNow() });
  }

  disconnected(connection: GatewayConnection): void {
    this.#writer.change({ ...idsOf(connection), disconnected_at: this.#now() }, true);
  }

  heartbeat(connection: GatewayConnection, { load, roundTripTimeMs, warnings = [] }: Heartbeat): void {
    const now = this.#sharedNow();
    this.#writer.heard(connection.agent.agentId, now);
    this.#writer.change(
      {
        ...idsOf(connection),
        last_heartbeat: now.toISOString(),
        warnings: warnings.map(storableText),
        ...(load === undefined ? {} : { load }),
        ...(roundTripTimeMs === undefined ? {} : { round_trip_time_ms: roundTripTimeMs }),
      },
      false,
    );
  }

  handshake(deviceId: string, gatewayId: string, at: Date): void {
    this.#writer.handshake({ device_id: deviceId, gateway_id: gatewayId, at: at.toISOString() });
  }

  /** @param isApplied whether the gateway enforces this content already */
  wanted(connection: GatewayConnection, root: string, generation: number, isApplied: boolean): void {
    const since = isApplied ? {} : { wanted_since: this.#now() };
    this.#writer.change({ ...idsOf(connection), wanted_root: root, wanted_generation: generation, ...since }, true);
  }

  sent(connection: GatewayConnection, root: string, generation: number): void {
    const sent = { sent_root: root, sent_generation: generation, sent_at: this.#now() };
    this.#writer.change({ ...idsOf(connection), ...sent }, true);
  }

  applied(connection: GatewayConnection, enforced: EnforcedConfiguration): void {
    const now = this.#options.clock.now();
    this.#writer.change(
      {
        ...idsOf(connection),
        ...appliedColumns(enforced),
        applied_at: now.toISOString(),
        error: "",
      },
      true,
    );
    const gatewayId = connection.agent.agentId;
    if (!this.#writer.changesRecord(gatewayId, "")) return;
    this.#writer.report({ gatewayId, appliedAt: now, heardAt: this.#sharedNow() });
  }

  failed(connection: GatewayConnection, reason: FailureReason, message: string): void {
    const error = storableText(`${reason}: ${message}`.slice(0, maxErrorLength));
    this.#writer.change({ ...idsOf(connection), error }, true);
    const gatewayId = connection.agent.agentId;
    const heardAt = this.#sharedNow();
    if (this.#writer.changesRecord(gatewayId, error)) this.#writer.report({ gatewayId, error, heardAt });
  }

  /** @param generation the one that this replica's gateways were offered; "none" if none of them is connected here */
  setGeneration(generation: number | "none"): void {
    this.#writer.setGeneration(generation);
  }

  /** The gateway was deleted. */
  forget(gatewayId: string): void {
    this.#writer.forget(gatewayId);
  }

  /** Stores everything that is pending. */
  flush(): Promise<void> {
    return this.#writer.flush();
  }

  stop(): Promise<void> {
    return this.#writer.stop();
  }

  /** The time of heartbeats: every replica compares it with the same clock. */
  #sharedNow(): Date {
    return this.#options.runner.sharedTime.now();
  }

  #now(): string {
    return this.#options.clock.now().toISOString();
  }
}

/** The columns of a gateway that enforces nothing. */
export const nothingApplied = {
  applied_hash: null,
  applied_root: null,
  applied_generation: null,
  applied_issued_at: null,
  applied_expires_at: null,
};

function appliedColumns({ hash, root, generation, issuedAt, expiresAt }: EnforcedConfiguration) {
  return {
    applied_hash: hash,
    applied_root: root,
    applied_generation: generation,
    applied_issued_at: issuedAt,
    applied_expires_at: new Date(expiresAt).toISOString(),
  };
}

function idsOf({ id, agent }: GatewayConnection): { readonly gateway_id: string; readonly connection_id: string } {
  return { gateway_id: agent.agentId, connection_id: id };
}
