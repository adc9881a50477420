/** Sends requests with the key and a time limit, retries them if that is safe, and validates responses. */
import createClient from "openapi-fetch";
import { GatehouseError, NoResponseError, UnexpectedResponseError } from "./errors.ts";
import { addressOf, isJson, isProblem, reasonOf } from "./responses.ts";
import { isRepeatable, retryAfterSeconds, retryDelayMs } from "./retries.ts";
import { TimeLimit } from "./time-limit.ts";

/** Clock and randomness, replaced in tests. */
export interface Timing {
  /** Milliseconds since 1970. */
  now(): number;
  /** Between 0 and 1. */
  random(): number;
  /** @throws the reason of the aborted signal */
  wait(ms: number, signal: AbortSignal | undefined): Promise<void>;
}

export interface TransportOptions {
  /** The base URL of the server, such as https://gatehouse.example.com, with or without a path. */
  readonly url: string;
  /**
   * An API key of the tenant, or the operator key. Without a key, requests carry the cookies of the page's own origin.
   * That works in pages that Gatehouse serves, after the user has signed in.
   */
  readonly apiKey?: string;
  /** Defaults to the global fetch. */
  readonly fetch?: (request: Request) => Promise<Response>;
  /** Time limit of one attempt including the complete response, in milliseconds; 30,000 by default. */
  readonly timeoutMs?: number;
  /** The most retries after the first attempt; 3 by default. */
  readonly retries?: number;
  /** The longest Retry-After to wait for, in milliseconds; 60,000 by default. */
  readonly maxRetryAfterMs?: number;
  /** Defaults to the real clock. */
  readonly timing?: Timing;
}

/** A request before it is encoded. */
export interface Outgoing {
  readonly method: string;
  /** The path as in the OpenAPI document, with parameters in braces. */
  readonly template: string;
  readonly path?: Readonly<Record<string, string>> | undefined;
  readonly query?: Readonly<Record<string, unknown>> | undefined;
  readonly body?: unknown;
  readonly ifMatch?: string | undefined;
  readonly idempotencyKey?: string | undefined;
  readonly overrideReason?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number | undefined;
}

export interface ApiResponse {
  readonly status: number;
  readonly headers: Headers;
  /** Undefined if the response has no body. */
  readonly body: unknown;
}

interface Reply {
  readonly data?: unknown;
  readonly error?: unknown;
  readonly response: Response;
}

/** The client of openapi-fetch without its types; `calls.ts` has simpler ones. */
type Requester = (method: string, template: string, init: object) => Promise<Reply>;

export class Transport {
  readonly url: string;
  readonly #key: string | undefined;
  readonly #request: Requester;
  readonly #timeoutMs: number;
  readonly #retries: number;
  readonly #maxRetryAfterMs: number;
  readonly #timing: Timing;

  /** @throws TypeError for a malformed URL or key; the message does not repeat them */
  constructor(options: TransportOptions) {
    this.url = plainUrl(options.url);
    this.#key = options.apiKey === undefined ? undefined : plainKey(options.apiKey);
    this.#timeoutMs = options.timeoutMs ?? 30_000;
    this.#retries = options.retries ?? 3;
    this.#maxRetryAfterMs = options.maxRetryAfterMs ?? 60_000;
    this.#timing = options.timing ?? realTiming;
    const client = createClient({
      baseUrl: this.url,
      headers: {
        ...(this.#key === undefined ? {} : { apikey: this.#key }),
        accept: "application/json, application/problem+json",
      },
      // Looked up at each call, so that a later replacement of the global fetch takes effect.
      fetch: options.fetch ?? ((request) => globalThis.fetch(request)),
      // A redirect would send the key to another server.
      redirect: "manual",
      // With a key, cookies must not affect authentication.
      credentials: this.#key === undefined ? "same-origin" : "omit",
    });
    // The generated types have already checked the paths.
    this.#request = client.request as unknown as Requester;
  }

  /**
   * @throws GatehouseError, NoResponseError or UnexpectedResponseError; the reason of the caller's aborted signal;
   * TypeError for an id that would lead to another path
   */
  send(outgoing: Outgoing): Promise<ApiResponse> {
    return this.#repeat(outgoing, async (limit) => {
      try {
        const reply = await this.#ask(outgoing, "text", limit);
        this.#requireSuccess(reply, outgoing);
        return this.#responseOf(reply);
      } finally {
        limit.end();
      }
    });
  }

  /**
   * Yields every item of an array as it arrives. The time limit applies to each wait. Nothing is retried after the
   * response has started.
   *
   * @throws the errors of `send`
   */
  async *items(outgoing: Outgoing): AsyncGenerator<unknown> {
    // Few programs read streams, and pages should not load the parser for the others.
    const { ArrayReader } = await import("./array-reader.ts");
    const { reply, limit } = await this.#repeat(outgoing, async (limit) => {
      const reply = await this.#ask(outgoing, "stream", limit);
      this.#requireSuccess(reply, outgoing);
      return { reply, limit };
    });
    const { response } = reply;
    const array = new ArrayReader();
    if (response.body === null) throw this.#foreign(response, "not a Gatehouse response");
    const body = response.body.getReader();
    try {
      for (;;) {
        const { value, done } = await this.#within(limit, outgoing, () => body.read());
        if (done) break;
        yield* array.read(value);
      }
      if (!array.isComplete) throw new NoResponseError(this.url, "the response ended early", false);
    } catch (error) {
      throw error instanceof SyntaxError ? this.#foreign(response, "not a Gatehouse response") : error;
    } finally {
      limit.end();
      // The stream may have ended or failed already.
      body.cancel().catch(() => undefined);
    }
  }

  async #repeat<T>(outgoing: Outgoing, attempt: (limit: TimeLimit) => Promise<T>): Promise<T> {
    requireIds(outgoing.path);
    const repeatable = isRepeatable(outgoing.method, outgoing.idempotencyKey);
    for (let failed = 0; ; failed += 1) {
      outgoing.signal?.throwIfAborted();
      const limit = new TimeLimit(outgoing.timeoutMs ?? this.#timeoutMs, outgoing.signal);
      try {
        return await attempt(limit);
      } catch (error) {
        limit.end();
        if (!repeatable || failed >= this.#retries) throw error;
        const delayMs = retryDelayMs(error, failed, this.#maxRetryAfterMs, this.#timing.random());
        if (delayMs === undefined) throw error;
        await this.#timing.wait(delayMs, outgoing.signal);
      }
    }
  }

  #ask(outgoing: Outgoing, parseAs: "text" | "stream", limit: TimeLimit): Promise<Reply> {
    const { path, query, body, ifMatch, idempotencyKey, overrideReason } = outgoing;
    return this.#within(limit, outgoing, (signal) =>
      this.#request(outgoing.method, outgoing.template, {
        params: { path, query },
        ...(body === undefined ? {} : { body }),
        headers: {
          "If-Match": ifMatch,
          "Idempotency-Key": idempotencyKey,
          "Gatehouse-Override-Reason": overrideReason === undefined ? undefined : bytesOf(overrideReason),
        },
        parseAs,
        signal,
      }),
    );
  }

  async #within<T>(limit: TimeLimit, outgoing: Outgoing, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    try {
      return await limit.during(work);
    } catch (error) {
      outgoing.signal?.throwIfAborted();
      const seconds = (outgoing.timeoutMs ?? this.#timeoutMs) / 1_000;
      const reason = limit.expired ? `no complete response within ${seconds} seconds` : reasonOf(error);
      throw new NoResponseError(this.url, this.#withoutKey(reason), limit.expired);
    }
  }

  /** @throws the error for a response that is not a success */
  #requireSuccess({ error, response }: Reply, { template, path = {} }: Outgoing): void {
    const { status, headers } = response;
    if (response.type === "opaqueredirect" || (status >= 300 && status < 400)) {
      const called = template.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(path[name] ?? ""));
      const redirectsTo = addressOf(headers.get("location"), this.url, called);
      throw new UnexpectedResponseError(this.url, status, "a redirect", { redirectsTo });
    }
    if (response.ok) return;
    if (!isJson(response)) throw this.#foreign(response, "not JSON");
    const problem = this.#withoutKeyIn(error);
    if (!isProblem(problem)) throw this.#foreign(response, "not a Gatehouse response");
    throw new GatehouseError(problem, this.#retryAfter(response));
  }

  #responseOf({ data, response }: Reply): ApiResponse {
    const { status, headers } = response;
    if (data === undefined || (data === "" && !isJson(response))) return { status, headers, body: undefined };
    if (!isJson(response) || typeof data !== "string") throw this.#foreign(response, "not JSON");
    try {
      return { status, headers, body: JSON.parse(data) };
    } catch {
      throw this.#foreign(response, "not JSON");
    }
  }

  #foreign(response: Response, found: string): UnexpectedResponseError {
    return new UnexpectedResponseError(this.url, response.status, found, {
      retryAfterSeconds: this.#retryAfter(response),
    });
  }

  #retryAfter(response: Response): number | undefined {
    return retryAfterSeconds(response.headers.get("retry-after"), this.#timing.now());
  }

  #withoutKey(text: string): string {
    const key = this.#key;
    // A key with a few characters, such as a mistyped one, also occurs in words.
    return key === undefined || key.length < shortestKey ? text : text.replaceAll(key, "<redacted>");
  }

  /** Removes the key, because the server that responded knows the key and can repeat it. */
  #withoutKeyIn(value: unknown): unknown {
    if (value === undefined) return undefined;
    return JSON.parse(JSON.stringify(value), (_, part) => (typeof part === "string" ? this.#withoutKey(part) : part));
  }
}

/** Shorter texts are not keys: those of Gatehouse have more than 40 characters. */
const shortestKey = 8;

const realTiming: Timing = {
  now: () => Date.now(),
  random: () => Math.random(),
  wait: (ms, signal) =>
    new Promise((resolve, reject) => {
      const end = () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", end);
        if (signal?.aborted === true) reject(signal.reason);
        else resolve();
      };
      const timer = setTimeout(end, ms);
      signal?.addEventListener("abort", end);
      if (signal?.aborted === true) end();
    }),
};

function plainUrl(text: string): string {
  const url = /^https?:\/\//i.test(text) && URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || /[@?#]/.test(text)) {
    throw new TypeError(
      "url must be a base URL such as https://gatehouse.example.com, without user name, password, ? and #.",
    );
  }
  return url.href.replace(/\/+$/, "");
}

function plainKey(text: string): string {
  if (!/^[\u0021-\u007e]+$/.test(text)) {
    throw new TypeError("apiKey must be one or more printable ASCII characters without spaces.");
  }
  return text;
}

/** Rejects `.`, `..` and the empty string, which would change the path. */
function requireIds(path: Readonly<Record<string, string>> = {}): void {
  for (const [name, value] of Object.entries(path)) {
    if (/^\.{0,2}$/.test(value)) throw new TypeError(`${name} must be an id, not ${JSON.stringify(value)}.`);
  }
}

/** The UTF-8 bytes of the text, each as one character, as header values require. */
function bytesOf(text: string): string {
  return Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join("");
}
