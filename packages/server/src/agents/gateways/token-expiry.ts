import type { Database } from "../../platform/db/database.ts";
import type { ConnectionRegistry } from "../channel/connection-registry.ts";
import type { GatewayConnection, GatewayReason, PresentedGateway } from "./gateway-connection.ts";
import { tokensOfGateways } from "./gateway-tokens.queries.ts";

/** A connection whose token is not valid any more. */
export interface ExpiredConnection {
  readonly connection: GatewayConnection;
  readonly reason: GatewayReason;
}

/**
 * The expiry of the tokens that a tenant's gateways connected with. A rotated token stays valid for its grace period.
 */
export class TokenExpiry {
  readonly #tenantId: string;
  readonly #database: Database;
  /** Milliseconds since 1970, by gateway. Gateways that connected with their current token are not in it. */
  readonly #endsAt = new Map<string, number>();

  constructor(tenantId: string, database: Database) {
    this.#tenantId = tenantId;
    this.#database = database;
  }

  track({ agentId, tokenEndsAt }: PresentedGateway): void {
    this.#set(agentId, tokenEndsAt ?? Number.POSITIVE_INFINITY);
  }

  forget(gatewayId: string): void {
    this.#endsAt.delete(gatewayId);
  }

  /** The gateways whose tokens have expired. */
  expired(now: number): readonly string[] {
    return Array.from(this.#endsAt).flatMap(([gatewayId, endsAt]) => (endsAt <= now ? [gatewayId] : []));
  }

  /**
   * Reads the tokens of gateways.
   *
   * @returns the connections of these gateways whose tokens are not valid
   * @throws AppError database_unavailable
   */
  async check(
    gatewayIds: readonly string[],
    connections: ConnectionRegistry<GatewayReason, GatewayConnection>,
    now: () => number,
  ): Promise<readonly ExpiredConnection[]> {
    if (gatewayIds.length === 0) return [];
    const tenantId = this.#tenantId;
    const tokens = await this.#database.snapshot({ kind: "tenant", tenantId }, ({ query }) =>
      tokensOfGateways({ tenantId, query }, gatewayIds),
    );
    return gatewayIds.flatMap((gatewayId): ExpiredConnection[] => {
      // Looked up only now: the gateway may have connected again while its tokens were read.
      const connection = connections.of(gatewayId);
      if (connection === undefined) return [];
      const own = tokens.get(gatewayId);
      if (own === undefined) return [{ connection, reason: "gateway_gone" }];
      const endsAt = own.get(connection.agent.tokenHash) ?? 0;
      if (endsAt <= now()) return [{ connection, reason: "token_revoked" }];
      this.#set(gatewayId, endsAt);
      return [];
    });
  }

  #set(gatewayId: string, endsAt: number): void {
    if (endsAt === Number.POSITIVE_INFINITY) this.#endsAt.delete(gatewayId);
    else this.#endsAt.set(gatewayId, endsAt);
  }
}
