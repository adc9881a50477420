import { isUuid } from "../ids.ts";

/** The rows that a transaction can access. The policies in `migrations/` read these settings. */
export type Scope =
  | TenantScope
  /** The operator of the installation. With `tenantId`, also inside that tenant. */
  | OperatorScope
  /** The holder of an API key: only the key's own row. `keyHash` is in hexadecimal. */
  | { readonly kind: "presented-key"; readonly keyHash: string }
  /** The holder of a console session: only the session's own row. `tokenHash` is in hexadecimal. */
  | { readonly kind: "presented-session"; readonly tokenHash: string };

export interface TenantScope extends Waits {
  readonly kind: "tenant";
  readonly tenantId: string;
}

export interface OperatorScope extends Waits {
  readonly kind: "operator";
  readonly tenantId?: string;
}

interface Waits {
  /**
   * How long background work waits for a lock, and for the tenant's share of the connections, in milliseconds. A lock
   * that is not free in time fails the query. All background work together uses at most half of the connections, but
   * at least two. After a wait of more than ten seconds, a statement may run for five more. If absent, the statement
   * and connection timeouts apply.
   */
  readonly waitMs?: number | undefined;
}

/** Up to this wait, the common limit of statements leaves time for the work after it, in milliseconds. */
const longestCommonWaitMs = 10_000;
/** How long a statement may run after a longer wait, in milliseconds. */
const workAfterWaitMs = 5_000;

/** How long a statement may run in a scope with a long wait, in milliseconds; undefined for the common limit. */
export function statementLimitMs(scope: Scope): number | undefined {
  const waitMs = "waitMs" in scope ? scope.waitMs : undefined;
  return waitMs === undefined || waitMs <= longestCommonWaitMs ? undefined : Math.ceil(waitMs) + workAfterWaitMs;
}

/** BEGIN and the scope as one message. Interpolated values are checked to be hexadecimal digits and dashes. */
export function begin(mode: string, scope: Scope): string {
  const settings: string[] = [];
  if (scope.kind === "presented-key") {
    if (!/^[0-9a-f]{64}$/.test(scope.keyHash)) throw new Error("a key hash is 64 hexadecimal digits");
    settings.push(`SET LOCAL app.presented_key_hash = '${scope.keyHash}'`);
  } else if (scope.kind === "presented-session") {
    if (!/^[0-9a-f]{64}$/.test(scope.tokenHash)) throw new Error("a token hash is 64 hexadecimal digits");
    settings.push(`SET LOCAL app.presented_session_hash = '${scope.tokenHash}'`);
  } else {
    if (scope.kind === "operator") settings.push("SET LOCAL app.operator = 'on'");
    if (scope.tenantId !== undefined) {
      if (!isUuid(scope.tenantId)) throw new Error("a tenant's id is a UUID");
      settings.push(`SET LOCAL app.tenant_id = '${scope.tenantId}'`);
    }
    if (scope.waitMs !== undefined) settings.push(`SET LOCAL lock_timeout = ${Math.ceil(scope.waitMs)}`);
    const limitMs = statementLimitMs(scope);
    if (limitMs !== undefined) settings.push(`SET LOCAL statement_timeout = ${limitMs}`);
  }
  return [`BEGIN ${mode}`, ...settings].join("; ");
}
