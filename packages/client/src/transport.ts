/** Sends requests: with the key, a time limit, and again where that is safe; tells answers from what only looks like one. */
import createClient from "openapi-fetch";
import { ForeignAnswerError, GatehouseError, NoAnswerError, type Problem } from "./errors.ts";
import { isRepeatable, retryAfterSeconds, retryDelayMs } from "./retries.ts";

/** What time and chance are; tests have their own. */
export interface Timing {
  /** In milliseconds since 1970. */
  now(): number;
  /** Between 0 and 1. */
  random(): number;
  /** @throws what the signal was aborted with */
  wait(ms: number, signal: AbortSignal | undefined): Promise<void>;
}

export interface TransportOptions {
  /** Where Gatehouse serves, such as https://gatehouse.example.com; a path is kept. */
  readonly url: string;
  /** A key of the tenant, or the operator's. */
  readonly apiKey: string;
  /** The global one where absent. */
  readonly fetch?: (request: Request) => Promise<Response>;
  /** For one attempt, its whole answer included, in milliseconds; 30,000 where absent. */
  readonly timeoutMs?: number;
  /** Attempts after the first, at most; 3 where absent. */
  readonly retries?: number;
  /** A Retry-After that asks for longer is not waited for, in milliseconds; 60,000 where absent. */
  readonly longestWaitMs?: number;
  /** The real ones where absent. */
  readonly timing?: Timing;
}

/** A request, before it has a form. */
export interface Outgoing {
  readonly method: string;
  /** As in the OpenAPI document, with its braces. */
  readonly template: string;
  readonly path?: Readonly<Record<string, string>> | undefined;
  readonly query?: Readonly<Record<string, unknown>> | undefined;
  readonly body?: unknown;
  readonly ifMatch?: string | undefined;
  readonly idempotencyKey?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number | undefined;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** Undefined where the answer has none. */
  readonly body: unknown;
}

/** The client of openapi-fetch, without its types: `calls.ts` has simpler ones. */
type Requester = (
  method: string,
  template: string,
  init: object,
) => Promise<{ readonly data?: unknown; readonly error?: unknown; readonly response: Response }>;

export class Transport {
  readonly url: string;
  readonly #key: string;
  readonly #request: Requester;
  readonly #timeoutMs: number;
  readonly #retries: number;
  readonly #longestWaitMs: number;
  readonly #timing: Timing;

  /** @throws TypeError for an address or a key that cannot be one; it does not repeat them */
  constructor(options: TransportOptions) {
    this.url = plainUrl(options.url);
    this.#key = plainKey(options.apiKey);
    this.#timeoutMs = options.timeoutMs ?? 30_000;
    this.#retries = options.retries ?? 3;
    this.#longestWaitMs = options.longestWaitMs ?? 60_000;
    this.#timing = options.timing ?? realTiming;
    const client = createClient({
      baseUrl: this.url,
      headers: { apikey: this.#key, accept: "application/json, application/problem+json" },
      // Asked for at each call, so that a fetch that is replaced later counts.
      fetch: options.fetch ?? ((request) => globalThis.fetch(request)),
      // The key would go with a redirect, to whoever it names.
      redirect: "manual",
      // The key alone says who calls; cookies have no part in it.
      credentials: "omit",
    });
    // The paths are any that callers name: Gatehouse's own types have checked them.
    this.#request = client.request as unknown as Requester;
  }

  /**
   * @throws GatehouseError, NoAnswerError or ForeignAnswerError; what the caller's signal was aborted with; TypeError
   *   for an id that would lead to another path
   */
  async send(outgoing: Outgoing): Promise<Answer> {
    requireIds(outgoing.path);
    const repeatable = isRepeatable(outgoing.method, outgoing.idempotencyKey);
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await this.#attempt(outgoing);
      } catch (error) {
        if (!repeatable || attempt >= this.#retries) throw error;
        const delayMs = retryDelayMs(error, attempt, this.#longestWaitMs, this.#timing.random());
        if (delayMs === undefined) throw error;
        await this.#timing.wait(delayMs, outgoing.signal);
      }
    }
  }

  async #attempt(outgoing: Outgoing): Promise<Answer> {
    const { path, query, body, ifMatch, idempotencyKey, signal } = outgoing;
    signal?.throwIfAborted();
    const timeoutMs = outgoing.timeoutMs ?? this.#timeoutMs;
    const stop = new AbortController();
    const abort = () => stop.abort(signal?.reason);
    signal?.addEventListener("abort", abort);
    let timedOut = false;
    const timer = setTimeout(() => {
      timedOut = true;
      stop.abort();
    }, timeoutMs);
    let replied: Awaited<ReturnType<Requester>>;
    try {
      const request = this.#request(outgoing.method, outgoing.template, {
        params: { path, query },
        ...(body === undefined ? {} : { body }),
        headers: { "If-Match": ifMatch, "Idempotency-Key": idempotencyKey },
        parseAs: "text",
        signal: stop.signal,
      });
      // Not every fetch hears of the signal while it reads a body.
      replied = await Promise.race([request, rejectedBy(stop.signal)]);
    } catch (error) {
      signal?.throwIfAborted();
      const reason = timedOut ? `no whole answer in ${timeoutMs / 1_000} seconds` : reasonOf(error);
      throw new NoAnswerError(this.url, this.#withoutKey(reason), timedOut);
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
    }
    return this.#answerOf(replied, outgoing);
  }

  #answerOf(replied: Awaited<ReturnType<Requester>>, { template, path = {} }: Outgoing): Answer {
    const { data, error, response } = replied;
    const { status, headers } = response;
    if (response.type === "opaqueredirect" || (status >= 300 && status < 400)) {
      const called = template.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(path[name] ?? ""));
      const redirectsTo = addressOf(headers.get("location"), this.url, called);
      throw new ForeignAnswerError(this.url, status, "a redirect", { redirectsTo });
    }
    const again = retryAfterSeconds(headers.get("retry-after"), this.#timing.now());
    const foreign = (found: string) => new ForeignAnswerError(this.url, status, found, { retryAfterSeconds: again });
    const isJson = /^[^;]*[/+]json\s*(;|$)/i.test(headers.get("content-type") ?? "");
    if (!response.ok) {
      if (!isJson) throw foreign("not JSON");
      const problem = this.#withoutKeyIn(error);
      throw isProblem(problem) ? new GatehouseError(problem, again) : foreign("not what Gatehouse answers");
    }
    if (data === undefined || (data === "" && !isJson)) return { status, headers, body: undefined };
    if (!isJson || typeof data !== "string") throw foreign("not JSON");
    try {
      return { status, headers, body: JSON.parse(data) };
    } catch {
      throw foreign("not JSON");
    }
  }

  #withoutKey(text: string): string {
    return text.replaceAll(this.#key, "<redacted>");
  }

  /** Whatever answered knows the key, and may repeat it. */
  #withoutKeyIn(value: unknown): unknown {
    if (value === undefined) return undefined;
    return JSON.parse(JSON.stringify(value), (_, part) => (typeof part === "string" ? this.#withoutKey(part) : part));
  }
}

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
      "url must be an address alone, such as https://gatehouse.example.com: without user name, password, ? and #.",
    );
  }
  return url.href.replace(/\/+$/, "");
}

function plainKey(text: string): string {
  if (!/^[\u0021-\u007e]+$/.test(text)) {
    throw new TypeError("apiKey must be a key: printable characters without spaces, at least one.");
  }
  return text;
}

function rejectedBy(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason));
  });
}

/** `.`, `..` and nothing at all are parts of a path that change where it leads. */
function requireIds(path: Readonly<Record<string, string>> = {}): void {
  for (const [name, value] of Object.entries(path)) {
    if (/^\.{0,2}$/.test(value)) throw new TypeError(`${name} must be an id, not ${JSON.stringify(value)}.`);
  }
}

/** What is behind fetch's "fetch failed". */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  if (cause instanceof AggregateError) return cause.errors.map(reasonOf).join(", ");
  return cause instanceof Error ? cause.message : String(cause);
}

/** The address that a redirect gives for the one that was configured; without what may be secret in it. */
function addressOf(location: string | null, url: string, called: string): string | undefined {
  if (location === null || location === "" || !URL.canParse(location, url + called)) return undefined;
  const { origin, pathname } = new URL(location, url + called);
  return origin + (pathname.endsWith(called) ? pathname.slice(0, -called.length) : pathname);
}

function isProblem(value: unknown): value is Problem {
  const texts = ["type", "title", "detail", "instance", "code", "requestId"];
  if (!isObject(value) || typeof value.status !== "number") return false;
  if (!texts.every((name) => typeof value[name] === "string")) return false;
  return value.errors === undefined || (Array.isArray(value.errors) && value.errors.every(isProblemField));
}

function isProblemField(value: unknown): boolean {
  return isObject(value) && typeof value.pointer === "string" && typeof value.message === "string";
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
