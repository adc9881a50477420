/**
 * Prism as a proxy between a client and a server. It independently validates requests and responses against an OpenAPI
 * document.
 */
import { getHttpOperationsFromSpec } from "@stoplight/prism-http";
import { createServer } from "@stoplight/prism-http-server";

export interface Violation {
  /** The position, such as `request.body.name` or `response.body.data.0.id`. */
  readonly place: string;
  readonly message: string;
}

export interface CheckedReply {
  readonly status: number;
  readonly text: string;
  readonly violations: readonly Violation[];
}

export interface CheckedRequest {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly apiKey?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** @param upstream the server's address */
export async function startValidatingProxy(document: object, upstream: string) {
  const operations = await getHttpOperationsFromSpec(document);
  const proxy = createServer(operations, {
    cors: false,
    config: {
      isProxy: true,
      upstream: new URL(upstream),
      upstreamProxy: undefined,
      checkSecurity: true,
      validateRequest: true,
      validateResponse: true,
      // Violations are reported in a header beside the server's response, on both sides.
      errors: false,
      mock: { dynamic: false },
    },
    components: { logger: silent },
  });
  const address = await proxy.listen(0, "127.0.0.1");
  return {
    /** The number of known operations. */
    operationCount: operations.length,
    async send({ method, target, apiKey, headers, body }: CheckedRequest): Promise<CheckedReply> {
      const response = await fetch(address + target, {
        method,
        headers: {
          ...headers,
          ...(apiKey === undefined ? {} : { apikey: apiKey }),
          ...(body === undefined ? {} : { "content-type": "application/json" }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      return {
        status: response.status,
        text: await response.text(),
        violations: violationsOf(response.headers.get("sl-violations")),
      };
    },
    close: () => proxy.close(),
  };
}

export type ValidatingProxy = Awaited<ReturnType<typeof startValidatingProxy>>;

function violationsOf(header: string | null): readonly Violation[] {
  if (header === null) return [];
  // A list that is too long is truncated and is not JSON.
  if (!header.startsWith("[")) return [{ place: "everywhere", message: header }];
  const found: readonly { readonly location: readonly string[]; readonly message: string }[] = JSON.parse(header);
  return found.map(({ location, message }) => ({ place: location.join("."), message }));
}

const ignore = () => undefined;
/** Prism expects the logger of an old pino version, but calls only these methods. */
const silent = {
  trace: ignore,
  debug: ignore,
  info: ignore,
  warn: ignore,
  error: ignore,
  fatal: ignore,
  success: ignore,
  child: () => silent,
  // The proxy calls no other method of its logger.
} as unknown as Parameters<typeof createServer>[1]["components"]["logger"];
