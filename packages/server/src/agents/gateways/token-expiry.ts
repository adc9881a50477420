import type { Database } from "../../platform/db/database.ts";
import type { ConnectionRegistry } from "../channel/connection-registry.ts";
import type { GatewayConnection, GatewayReason } from "./gateway-connection.ts";
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

  constructor(tenantId: string, database: Database) {
    this.#tenantId = tenantId;
    this.#database = database;
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
    return gatewayIds.flatMap((gatewayId) => {
      const own = tokens.get(gatewayId);
      // Looked up only now: the gateway may have connected again while its tokens were read.
      return connections.allOf(gatewayId).flatMap((connection): ExpiredConnection[] => {
        if (own === undefined) return [{ connection, reason: "gateway_gone" }];
        const endsAt = connection.tokenEndsBy(own.get(connection.agent.tokenHash) ?? 0);
        return endsAt <= now() ? [{ connection, reason: "token_revoked" }] : [];
      });
    });
  }
}
