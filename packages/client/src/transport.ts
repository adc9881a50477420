/** Sends requests: with the key, a time limit, and again where that is safe; tells answers from what only looks like one. */
import createClient from "openapi-fetch";
import { addressOf, isJson, isProblem, reasonOf } from "./answers.ts";
import { ArrayReader } from "./array-reader.ts";
import { ForeignAnswerError, GatehouseError, NoAnswerError } from "./errors.ts";
import { isRepeatable, retryAfterSeconds, retryDelayMs } from "./retries.ts";
import { TimeLimit } from "./time-limit.ts";

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
  /**
   * A key of the tenant, or the operator's. Where absent, the cookies of the page's own origin say who calls: in a page that
   * Gatehouse itself serves, whose user has signed in.
   */
  readonly apiKey?: string;
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
  readonly overrideReason?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number | undefined;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** Undefined where the answer has none. */
  readonly body: unknown;
}

interface Reply {
  readonly data?: unknown;
  readonly error?: unknown;
  readonly response: Response;
}

/** The client of openapi-fetch, without its types: `calls.ts` has simpler ones. */
type Requester = (method: string, template: string, init: object) => Promise<Reply>;

export class Transport {
  readonly url: string;
  readonly #key: string | undefined;
  readonly #request: Requester;
  readonly #timeoutMs: number;
  readonly #retries: number;
  readonly #longestWaitMs: number;
  readonly #timing: Timing;

  /** @throws TypeError for an address or a key that cannot be one; it does not repeat them */
  constructor(options: TransportOptions) {
    this.url = plainUrl(options.url);
    this.#key = options.apiKey === undefined ? undefined : plainKey(options.apiKey);
    this.#timeoutMs = options.timeoutMs ?? 30_000;
    this.#retries = options.retries ?? 3;
    this.#longestWaitMs = options.longestWaitMs ?? 60_000;
    this.#timing = options.timing ?? realTiming;
    const client = createClient({
      baseUrl: this.url,
      headers: {
        ...(this.#key === undefined ? {} : { apikey: this.#key }),
        accept: "application/json, application/problem+json",
      },
      // Asked for at each call, so that a fetch that is replaced later counts.
      fetch: options.fetch ?? ((request) => globalThis.fetch(request)),
      // The key would go with a redirect, to whoever it names.
      redirect: "manual",
      // With a key, the key alone says who calls; cookies have no part in it.
      credentials: this.#key === undefined ? "same-origin" : "omit",
    });
    // The paths are any that callers name: Gatehouse's own types have checked them.
    this.#request = client.request as unknown as Requester;
  }

  /**
   * @throws GatehouseError, NoAnswerError or ForeignAnswerError; what the caller's signal was aborted with; TypeError
   *   for an id that would lead to another path
   */
  send(outgoing: Outgoing): Promise<Answer> {
    return this.#repeat(outgoing, async (limit) => {
      try {
        const reply = await this.#ask(outgoing, "text", limit);
        this.#requireSuccess(reply, outgoing);
        return this.#answerOf(reply);
      } finally {
        limit.end();
      }
    });
  }

  /**
   * Every item of an array, as it comes; the time limit is for each wait. Nothing is asked for again once the answer has
   * begun.
   *
   * @throws as `send` does
   */
  async *items(outgoing: Outgoing): AsyncGenerator<unknown> {
    const { reply, limit } = await this.#repeat(outgoing, async (limit) => {
      const reply = await this.#ask(outgoing, "stream", limit);
      this.#requireSuccess(reply, outgoing);
      return { reply, limit };
    });
    const { response } = reply;
    const array = new ArrayReader();
    if (response.body === null) throw this.#foreign(response, "not what Gatehouse answers");
    const body = response.body.getReader();
    try {
      for (;;) {
        const { value, done } = await this.#within(limit, outgoing, () => body.read());
        if (done) break;
        yield* array.read(value);
      }
      if (!array.isWhole) throw new NoAnswerError(this.url, "the answer ended before its time", false);
    } catch (error) {
      throw error instanceof SyntaxError ? this.#foreign(response, "not what Gatehouse answers") : error;
    } finally {
      limit.end();
      // It may be over, or broken off: then there is nothing left to give up.
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
        const delayMs = retryDelayMs(error, failed, this.#longestWaitMs, this.#timing.random());
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
      const reason = limit.expired ? `no whole answer in ${seconds} seconds` : reasonOf(error);
      throw new NoAnswerError(this.url, this.#withoutKey(reason), limit.expired);
    }
  }

  /** @throws what an answer means that is not the success of an operation */
  #requireSuccess({ error, response }: Reply, { template, path = {} }: Outgoing): void {
    const { status, headers } = response;
    if (response.type === "opaqueredirect" || (status >= 300 && status < 400)) {
      const called = template.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(path[name] ?? ""));
      const redirectsTo = addressOf(headers.get("location"), this.url, called);
      throw new ForeignAnswerError(this.url, status, "a redirect", { redirectsTo });
    }
    if (response.ok) return;
    if (!isJson(response)) throw this.#foreign(response, "not JSON");
    const problem = this.#withoutKeyIn(error);
    if (!isProblem(problem)) throw this.#foreign(response, "not what Gatehouse answers");
    throw new GatehouseError(problem, this.#retryAfter(response));
  }

  #answerOf({ data, response }: Reply): Answer {
    const { status, headers } = response;
    if (data === undefined || (data === "" && !isJson(response))) return { status, headers, body: undefined };
    if (!isJson(response) || typeof data !== "string") throw this.#foreign(response, "not JSON");
    try {
      return { status, headers, body: JSON.parse(data) };
    } catch {
      throw this.#foreign(response, "not JSON");
    }
  }

  #foreign(response: Response, found: string): ForeignAnswerError {
    return new ForeignAnswerError(this.url, response.status, found, { retryAfterSeconds: this.#retryAfter(response) });
  }

  #retryAfter(response: Response): number | undefined {
    return retryAfterSeconds(response.headers.get("retry-after"), this.#timing.now());
  }

  #withoutKey(text: string): string {
    return this.#key === undefined ? text : text.replaceAll(this.#key, "<redacted>");
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

/** `.`, `..` and nothing at all are parts of a path that change where it leads. */
function requireIds(path: Readonly<Record<string, string>> = {}): void {
  for (const [name, value] of Object.entries(path)) {
    if (/^\.{0,2}$/.test(value)) throw new TypeError(`${name} must be an id, not ${JSON.stringify(value)}.`);
  }
}

/** A header's value is handed over as bytes, each written as a character: those of UTF-8. */
function bytesOf(text: string): string {
  return Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join("");
}
