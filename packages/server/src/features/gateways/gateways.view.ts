import type { Permission } from "@gatehouse/contract/permissions";
import {
  type Gateway,
  type GatewayResource,
  type GatewayStatus,
  redactedToken,
} from "@gatehouse/contract/records/gateway";
import { isoTimestamp } from "../../platform/db/column-types.ts";
import type { HoldSecret } from "../../platform/prepared-answer.ts";
import type { SecretBox } from "../../platform/secrets/master-key.ts";

/** A gateway as `gatewayJson` selects it. */
export interface GatewayJson {
  readonly id: string;
  readonly created_at: string;
  readonly updated_at: string;
  readonly name: string;
  readonly description: string;
  readonly wireguard_port: number;
  readonly status: GatewayStatus;
  readonly error: string;
  readonly deployed_on: string | null;
  readonly last_online: string | null;
  readonly relay_enabled: boolean;
  readonly endpoint: string;
  readonly public_key: string;
  readonly key_proved: boolean;
  readonly key_reset_until: string | null;
  readonly agent_version: string;
  /** The token in base64; null unless requested. */
  readonly token: string | null;
}

/**
 * SQL for a gateway as one json value.
 *
 * @param alias the name of the row of `gateways`
 * @param withToken the SQL of a boolean: whether the caller may see tokens
 */
export function gatewayJson(alias: string, withToken: string): string {
  const fields = [
    "id",
    "created_at",
    "updated_at",
    "name",
    "description",
    "wireguard_port",
    "status",
    "error",
    "deployed_on",
    "last_online",
    "relay_enabled",
    "endpoint",
    "public_key",
    "key_proved",
    "key_reset_until",
    "agent_version",
  ].map((field) => `'${field}', ${alias}.${field}`);
  const token = `'token', CASE WHEN ${withToken}::boolean THEN encode(${alias}.token_ciphertext, 'base64') END`;
  return `json_build_object(${[...fields, token].join(", ")})`;
}

/** Shows the tokens of gateways to callers that may see them, and a placeholder to others. */
export interface TokenViewer {
  /** Whether tokens have to be read at all. */
  readonly maySee: boolean;
  show(gatewayId: string, sealed: string | null): string;
}

/** The associated data of a token's ciphertext, which makes it decrypt in its own row only. */
export function tokenContext(tenantId: string, gatewayId: string): string {
  return `gateway:${tenantId}:${gatewayId}`;
}

/** @param caller a caller in the tenant of the gateways, whose permissions decide */
export function tokenViewer(caller: {
  readonly shownPermissions: ReadonlySet<Permission>;
  readonly tenantId: string;
  readonly secrets: { readonly gatewayTokens: SecretBox };
}): TokenViewer {
  const { shownPermissions, tenantId, secrets } = caller;
  return {
    maySee: shownPermissions.has("gateways:token"),
    show: (gatewayId, sealed) =>
      sealed === null
        ? redactedToken
        : secrets.gatewayTokens.open(Buffer.from(sealed, "base64"), tokenContext(tenantId, gatewayId)),
  };
}

/** A viewer that leaves the tokens of an answer to the time when the answer is sent. */
export function heldTokens(viewer: TokenViewer, hold: HoldSecret): TokenViewer {
  return {
    maySee: viewer.maySee,
    show: (gatewayId, sealed) =>
      sealed === null ? redactedToken : hold(`${gatewayId} ${sealed}`, () => viewer.show(gatewayId, sealed)),
  };
}

/** A viewer that shows no tokens, for the audit record. */
export const noTokens: TokenViewer = { maySee: false, show: () => redactedToken };

/** A gateway as other records embed it, without its resources (docs/decisions/0008-embedded-gateways.md). */
export function embeddedGatewayView(row: GatewayJson, tokens: TokenViewer): Gateway {
  return {
    id: row.id,
    createdAt: isoTimestamp(row.created_at),
    deployedOn: row.deployed_on === null ? null : isoTimestamp(row.deployed_on),
    updatedAt: isoTimestamp(row.updated_at),
    name: row.name,
    ...(row.description === "" ? {} : { description: row.description }),
    wireguardPort: String(row.wireguard_port),
    status: row.status,
    ...(row.error === "" ? {} : { error: row.error }),
    token: tokens.show(row.id, row.token),
    ...(row.last_online === null ? {} : { lastOnline: isoTimestamp(row.last_online) }),
    relayEnabled: row.relay_enabled,
    ...(row.endpoint === "" ? {} : { endpoint: row.endpoint }),
    autoDiscoverEndpoint: row.endpoint === "",
    ...(row.public_key === "" ? {} : { publicKey: row.public_key }),
    ...(row.key_proved ? { publicKeyProved: true } : {}),
    ...(row.key_reset_until === null ? {} : { keyResetUntil: isoTimestamp(row.key_reset_until) }),
    ...(row.agent_version === "" ? {} : { agentVersion: row.agent_version }),
  };
}

/** A gateway as its own record, with the resources that it serves. */
export function gatewayView(
  row: {
    readonly gateway: GatewayJson;
    readonly resources: GatewayResource[] | null;
    readonly former_tokens_end_at: string | null;
  },
  tokens: TokenViewer,
): Gateway {
  const { gateway, resources, former_tokens_end_at: endsAt } = row;
  return {
    ...embeddedGatewayView(gateway, tokens),
    ...(endsAt === null ? {} : { formerTokensEndAt: endsAt }),
    resources: resources ?? [],
  };
}
