/** Sends a request to a tenant's URL without trusting the URL, its name or its server. */
import type { Clock } from "../clock.ts";
import type { Exchange, ExchangeResult } from "./exchange.ts";
import type { AllowedNetworks } from "./outbound-networks.ts";

export interface GuardedPost {
  /** The tenant that chose the URL. */
  readonly tenantId: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** The time limit for name resolution, connection, request and response together, in milliseconds. */
  readonly timeoutMs: number;
  readonly networks: AllowedNetworks;
  readonly exchange: Exchange;
  readonly signal: AbortSignal;
  readonly clock: Clock;
}

export type PostOutcome = { readonly durationMs: number } & Ending;

type Ending =
  | {
      readonly kind: "answered";
      readonly statusCode: number;
      /** The header Retry-After as received. */
      readonly retryAfter: string | undefined;
    }
  /** `problem` is shown to the tenant and reveals no internal addresses. */
  | { readonly kind: "failed"; readonly problem: string }
  /** The server had no space for the body, so the receiver was not asked. */
  | { readonly kind: "postponed"; readonly problem: string }
  /** The signal aborted the request; it is unknown whether it arrived. */
  | { readonly kind: "aborted" };

/**
 * Posts and returns the outcome. Never throws, follows no redirect, uses no proxy, and always verifies certificates.
 * After the status has arrived, the outcome is decided, regardless of the body.
 */
export async function guardedPost({
  tenantId,
  url,
  headers,
  body,
  timeoutMs,
  networks,
  exchange,
  signal,
  clock,
}: GuardedPost): Promise<PostOutcome> {
  const startedAt = clock.elapsedMs();
  const request = { tenantId, url: url.href, method: "POST", headers, body, timeoutMs, networks } as const;
  const result = await exchange({ ...request, reads: "status" }, signal);
  return { ...endingOf(result), durationMs: Math.max(0, Math.round(clock.elapsedMs() - startedAt)) };
}

function endingOf(result: ExchangeResult): Ending {
  if (result.kind === "answered") {
    return { kind: "answered", statusCode: result.statusCode, retryAfter: result.headers["retry-after"] };
  }
  if (result.kind === "no-address") {
    return {
      kind: "failed",
      problem: "the host has no address that webhooks can be sent to, or its name cannot be resolved",
    };
  }
  return result;
}
