/** Public API of this feature: API keys. */

import { compileSourceIps, type SourceIps, sourceIpsContain } from "@gatehouse/addresses/source-ips";
import type { Permission } from "@gatehouse/contract/permissions";
import type { Caller } from "../../http/caller.ts";
import { AppError } from "../../platform/app-error.ts";
import type { BackgroundTask } from "../../platform/background-task.ts";
import type { Actor } from "../../platform/change.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import type { Log } from "../../platform/log.ts";
import type { OutboxFollower } from "../../platform/outbox/outbox-follower.ts";
import { isWholeToken, tokenPrefixes } from "../../platform/secrets/tokens.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import { hasExpired, readApiKey } from "./api-keys.queries.ts";
import { KeyCache } from "./key-cache.ts";
import { KeyUsage } from "./key-usage.ts";

export { type IssuedApiKey, issueApiKey } from "./api-keys.commands.ts";
export { listApiKeys as listApiKeyRows, permissionsOfKey } from "./api-keys.queries.ts";
export { apiKeyView, newApiKeyView } from "./api-keys.view.ts";

interface ValidKey {
  readonly tenantId: string;
  readonly caller: Caller;
  readonly keyId: string;
  /** Undefined if the key may be used from any address. */
  readonly sources: SourceIps | undefined;
  readonly expiresAtMs: number;
}

export interface ApiKeyAuthenticatorOptions {
  readonly database: Database;
  readonly follower: OutboxFollower;
  readonly clock: Clock;
  readonly log: Log;
}

/** Authenticates the keys of tenants. */
export class ApiKeyAuthenticator {
  readonly usage: KeyUsage;
  readonly #clock: Clock;
  readonly #cache: KeyCache<ValidKey>;

  constructor(options: ApiKeyAuthenticatorOptions) {
    this.#clock = options.clock;
    this.usage = new KeyUsage(options.database, options.log);
    this.#cache = new KeyCache({
      ...options,
      prepare: (row) => ({
        tenantId: row.tenant_id,
        keyId: row.id,
        caller: {
          actor: { type: "api-key", id: row.id, name: row.name },
          permissions: new Set<Permission>(row.permissions),
          limits: { expiresAt: row.expires_at, sourceIps: row.source_ips },
          tenantId: row.tenant_id,
        },
        sources: row.source_ips.length === 0 ? undefined : compileSourceIps(row.source_ips),
        expiresAtMs: row.expires_at === null ? Number.POSITIVE_INFINITY : Date.parse(row.expires_at),
      }),
    });
  }

  get tasks(): readonly BackgroundTask[] {
    return [{ name: "key-usage", intervalMs: 10_000, run: () => this.usage.flush() }];
  }

  /** The state of the key cache. */
  get cacheState(): KeyCache<ValidKey>["state"] {
    return this.#cache.state;
  }

  /** @throws AppError invalid_api_key, source_address_not_allowed, database_unavailable */
  authenticate(key: string, sourceAddress: string): Caller | Promise<Caller> {
    const found = this.#cache.find(key);
    return found instanceof Promise
      ? found.then((valid) => this.#admit(valid ?? refuseUnknown(key), sourceAddress))
      : this.#admit(found ?? refuseUnknown(key), sourceAddress);
  }

  /**
   * Authenticates like `authenticate`, for a caller that proved in another way that it holds the key.
   *
   * @param keyHash the SHA-256 of the key
   */
  async authenticateByHash(keyHash: Buffer, sourceAddress: string): Promise<Caller> {
    const valid = await this.#cache.findByHash(keyHash);
    if (valid === undefined) throw new AppError("invalid_api_key");
    return this.#admit(valid, sourceAddress);
  }

  #admit(valid: ValidKey, sourceAddress: string): Caller {
    const now = this.#clock.now();
    if (valid.expiresAtMs <= now.getTime()) throw new AppError("invalid_api_key");
    if (valid.sources !== undefined && !sourceIpsContain(valid.sources, sourceAddress)) {
      throw new AppError("source_address_not_allowed", {
        detail: `The key may not be used from ${sourceAddress}.`,
      });
    }
    this.usage.note(valid.tenantId, valid.keyId, now);
    return valid.caller;
  }
}

/**
 * Requires that a key is still valid. Locks nothing: see `requireOpenSession`.
 *
 * @throws AppError invalid_api_key
 */
export async function requireValidKey(tx: TenantTx, { id }: Pick<Actor, "id">, clock: Clock): Promise<void> {
  const key = id === undefined ? undefined : await readApiKey(tx, id);
  // The time is read after the query, which may have waited.
  if (key === undefined || hasExpired(key, clock.now())) throw new AppError("invalid_api_key");
}

/**
 * The prefix and the checksum only explain a refusal. A key from the configuration may have the same prefix without a
 * checksum, and only the database knows these keys.
 */
function refuseUnknown(key: string): never {
  if (key.startsWith(tokenPrefixes.operator)) {
    throw new AppError("invalid_api_key", {
      detail: "This is an operator key. The operation requires an API key of a tenant.",
    });
  }
  throw key.startsWith(tokenPrefixes.apiKey) && !isWholeToken(key, tokenPrefixes.apiKey)
    ? new AppError("invalid_api_key", {
        detail: "The key's checksum does not match. The key is truncated or mistyped.",
      })
    : new AppError("invalid_api_key");
}
