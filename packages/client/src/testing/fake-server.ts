/** A fetch that responds from a list, and a clock whose waits end at once. */
import { createGatehouse, type Gatehouse, type GatehouseOptions } from "../gatehouse.ts";

export interface SentRequest {
  readonly method: string;
  /** Path and query, decoded. */
  readonly target: string;
  readonly headers: Headers;
  readonly body: string;
}

export const apiKey = "gatehouse_key_of_the_tests";
export const url = "https://gatehouse.example.com";

export class FakeServer {
  readonly requests: SentRequest[] = [];
  /** The waits between attempts, in milliseconds. */
  readonly waits: number[] = [];
  readonly gatehouse: Gatehouse;
  readonly #answers: (() => Response | Promise<Response>)[];

  /** @param responses one for each request, in order; further requests fail */
  constructor(answers: readonly (() => Response | Promise<Response>)[], options: Partial<GatehouseOptions> = {}) {
    this.#answers = [...answers];
    this.gatehouse = createGatehouse({
      url,
      apiKey,
      fetch: async (request) => {
        const { pathname, search } = new URL(request.url);
        this.requests.push({
          method: request.method,
          target: decodeURIComponent(pathname + search),
          headers: request.headers,
          body: await request.text(),
        });
        const answer = this.#answers.shift();
        if (answer === undefined) throw new Error("more requests than responses");
        return answer();
      },
      timing: {
        now: () => Date.parse("2030-01-31T12:00:00Z"),
        random: () => 0.5,
        wait: async (ms, signal) => {
          signal?.throwIfAborted();
          this.waits.push(ms);
        },
      },
      ...options,
    });
  }
}

export const json =
  (status: number, body: unknown, headers: Record<string, string> = {}) =>
  () =>
    new Response(JSON.stringify(body), { status, headers: { "content-type": "application/json", ...headers } });

export const problem = (status: number, code: string, headers: Record<string, string> = {}, more: object = {}) =>
  json(
    status,
    {
      type: `/errors/${code}`,
      title: "A title",
      status,
      detail: "What was wrong.",
      instance: "/tenants",
      code,
      requestId: "request-1",
      ...more,
    },
    { "content-type": "application/problem+json", ...headers },
  );

export const empty = (status: number) => () => new Response(null, { status });

/** Fails like fetch without a connection. */
export const unreachable = (reason: string) => (): never => {
  throw new TypeError("fetch failed", { cause: new Error(reason) });
};
