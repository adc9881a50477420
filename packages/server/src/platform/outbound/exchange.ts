/** Requests to targets that tenants choose, and their results, as data that threads can pass on. */
import type { AllowedNetworks } from "./outbound-networks.ts";

export interface ExchangeRequest {
  /** The tenant that chose the URL. */
  readonly tenantId: string;
  readonly url: string;
  readonly method: "GET" | "POST";
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  /**
   * The time limit for name resolution, connection, request and response together, in milliseconds. A large body can
   * first wait equally long for space.
   */
  readonly timeoutMs: number;
  readonly networks: AllowedNetworks;
  /** The result: the status alone, which counts whatever happens to the content, or a complete document. */
  readonly reads: "status" | "document";
}

/** A request for another thread: bytes of a body are passed on outside the heap. */
export interface PassedRequest extends Omit<ExchangeRequest, "body"> {
  readonly body: string | Uint8Array<ArrayBuffer> | undefined;
}

/** The parts of a response that are used. All are bounded. */
export interface ExchangeAnswer {
  readonly kind: "answered";
  readonly statusCode: number;
  readonly headers: {
    readonly "content-type": string | undefined;
    readonly "retry-after": string | undefined;
    readonly "www-authenticate": string | undefined;
  };
  /** Empty if only the status is read. */
  readonly content: Uint8Array<ArrayBuffer>;
}

export type ExchangeResult =
  | ExchangeAnswer
  /**
   * The URL leads only to addresses that requests of tenants cannot go to, or its name cannot be resolved. Tenants
   * cannot distinguish these, because the difference would reveal the names in the network of the server.
   */
  | { readonly kind: "no-address" }
  /** `problem` is shown to the tenant and reveals no internal addresses. */
  | { readonly kind: "failed"; readonly problem: string }
  /** The server had no space for the body, so the target was not asked. */
  | { readonly kind: "postponed"; readonly problem: string }
  /** The signal aborted the request; it is unknown whether it arrived. */
  | { readonly kind: "aborted" };

/** Performs a request. Never throws. */
export type Exchange = (request: ExchangeRequest, signal: AbortSignal) => Promise<ExchangeResult>;
