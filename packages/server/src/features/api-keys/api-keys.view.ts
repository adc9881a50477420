import type { ApiKey, NewApiKey } from "@gatehouse/contract/records/api-key";
import type { ApiKeyRow } from "./api-keys.queries.ts";

export function apiKeyView(row: ApiKeyRow): ApiKey {
  return {
    id: row.id,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    name: row.name,
    prefix: row.prefix,
    permissions: row.permissions,
    sourceIps: row.source_ips,
    ...(row.expires_at === null ? {} : { expiresAt: row.expires_at }),
    ...(row.last_used_at === null ? {} : { lastUsedAt: row.last_used_at }),
    ...(row.created_by_type === null
      ? {}
      : {
          createdBy: {
            type: row.created_by_type,
            ...(row.created_by_id === null ? {} : { id: row.created_by_id }),
            name: row.created_by_name ?? "",
          },
        }),
    ...(row.replaced_by === null ? {} : { replacedBy: row.replaced_by }),
  };
}

/** @param key the secret, shown this once */
export function newApiKeyView(row: ApiKeyRow, key: string): NewApiKey {
  return { ...apiKeyView(row), key };
}
