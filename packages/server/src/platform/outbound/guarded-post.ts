/** Sends a request to a tenant's URL without trusting the URL, its name or its server. */
import type { ClientRequest } from "node:http";
import type { Clock } from "../clock.ts";
import { openGuardedRequest, problemOf } from "./guarded-request.ts";
import type { AllowedNetworks } from "./outbound-networks.ts";
import type { ResolveHost } from "./resolve-host.ts";

/** The bytes of a response body that are read before the connection is closed. */
const maxResponseBytes = 4096;
/** Everything that is read. The status and the headers come first, so that a longer body still counts as a response. */
const maxReceivedBytes = 64 * 1024;

export interface GuardedPost {
  /** The tenant that chose the URL. */
  readonly tenantId: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** The time limit for name resolution, connection, request and response together, in milliseconds. */
  readonly timeoutMs: number;
  readonly networks: AllowedNetworks;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** Defaults to the DNS servers of the system. */
  readonly resolveHost?: ResolveHost;
}

export type PostOutcome = { readonly durationMs: number } & (
  | {
      readonly kind: "answered";
      readonly statusCode: number;
      /** The header Retry-After as received. */
      readonly retryAfter: string | undefined;
    }
  /** `problem` is shown to the tenant and reveals no internal addresses. */
  | { readonly kind: "failed"; readonly problem: string }
  /** The signal aborted the request; it is unknown whether it arrived. */
  | { readonly kind: "aborted" }
);

type Ending =
  | { readonly kind: "answered"; readonly statusCode: number; readonly retryAfter: string | undefined }
  | { readonly kind: "failed"; readonly problem: string }
  | { readonly kind: "aborted" };

const noAddress = "the host has no address that webhooks can be sent to, or its name cannot be resolved";

/**
 * Posts and returns the outcome. Never throws, follows no redirect, uses no proxy, and always verifies certificates.
 * The name is resolved once, and connections go only to allowed addresses of that resolution, which defeats DNS
 * rebinding.
 */
export async function guardedPost(post: GuardedPost): Promise<PostOutcome> {
  const startedAt = post.clock.elapsedMs();
  const ending = await send(post);
  return { ...ending, durationMs: Math.max(0, Math.round(post.clock.elapsedMs() - startedAt)) };
}

function send(post: GuardedPost): Promise<Ending> {
  const { signal, body } = post;
  let outgoing: ClientRequest;
  try {
    if (signal.aborted) return Promise.resolve({ kind: "aborted" });
    outgoing = openGuardedRequest({ ...post, method: "POST", bodyBytes: Buffer.byteLength(body), maxReceivedBytes });
  } catch (error) {
    return Promise.resolve({ kind: "failed", problem: problemOf(error as Error, noAddress) }); // a NoAddressError
  }
  return new Promise((resolve) => {
    let answer: Ending | undefined;
    const finish = (ending: Ending) => {
      clearTimeout(timer);
      signal.removeEventListener("abort", abort);
      outgoing.destroy();
      // After the status has arrived, the outcome is decided, regardless of the body.
      resolve(answer ?? ending);
    };
    const abort = () => finish({ kind: "aborted" });
    const timer = setTimeout(
      () => finish({ kind: "failed", problem: `no response within ${post.timeoutMs / 1000} seconds` }),
      post.timeoutMs,
    );
    signal.addEventListener("abort", abort);
    outgoing.on("error", (error) => finish({ kind: "failed", problem: problemOf(error, noAddress) }));
    outgoing.on("close", () => finish({ kind: "failed", problem: "the connection was closed without a response" }));
    outgoing.on("response", (response) => {
      answer = {
        kind: "answered",
        statusCode: response.statusCode ?? 0,
        retryAfter: response.headers["retry-after"],
      };
      const ending = answer;
      let received = 0;
      response.on("data", (chunk: Buffer) => {
        received += chunk.length;
        if (received >= maxResponseBytes) finish(ending);
      });
      response.on("end", () => finish(ending));
      response.on("error", () => finish(ending));
    });
    outgoing.end(body);
  });
}
