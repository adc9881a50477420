/** Calls the HTTP API as any client does: with a key, and no privileges of its own. */
import type { Problem } from "@gatehouse/contract/problem";
import { CommandFailure } from "./failure.ts";

/** For a whole answer, in milliseconds. */
const timeoutMs = 30_000;

/** The longest page that the API gives. */
const pageLimit = 100;

export class ApiClient {
  readonly #url: string;
  readonly #key: string;

  /** @param url where Gatehouse serves, such as http://127.0.0.1:8080 */
  constructor(url: string, key: string) {
    this.#url = url.replace(/\/+$/, "");
    this.#key = key;
  }

  /**
   * @returns the body of the answer; what it is, the operation's declaration says
   * @throws CommandFailure when there is no answer, or one that says no
   */
  async call<T>(method: "GET" | "POST" | "DELETE", path: string, body?: object): Promise<T> {
    const response = await this.#send(method, path, body);
    const text = await response.text();
    const isJson = /[/+]json/.test(response.headers.get("content-type") ?? "");
    if (response.ok && (isJson || text === "")) return (text === "" ? undefined : JSON.parse(text)) as T; // as declared
    if (!isJson) throw notGatehouse(this.#url, response.status);
    throw problemFailure(JSON.parse(text) as Problem); // every error of the API is one
  }

  /** Every item of a paginated list. */
  async *pages<T>(path: string): AsyncGenerator<T> {
    for (let offset = 0; ; offset += pageLimit) {
      const page = await this.call<{ data: T[]; hasNext: boolean }>(
        "GET",
        `${path}?limit=${pageLimit}&offset=${offset}`,
      );
      yield* page.data;
      if (!page.hasNext) return;
    }
  }

  async #send(method: string, path: string, body: object | undefined): Promise<Response> {
    try {
      return await fetch(this.#url + path, {
        method,
        headers: { apikey: this.#key, ...(body === undefined ? {} : { "content-type": "application/json" }) },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(timeoutMs),
      });
    } catch (error) {
      throw new CommandFailure(`No Gatehouse answers at ${this.#url}: ${reasonOf(error)}.`, {
        details: ["Start it with gatehouse serve, or say where it is: --url, or GATEHOUSE_URL."],
      });
    }
  }
}

/** What is behind fetch's "fetch failed". */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  if (cause instanceof AggregateError) return cause.errors.map(reasonOf).join(", ");
  return cause instanceof Error ? cause.message : String(cause);
}

function notGatehouse(url: string, status: number): CommandFailure {
  return new CommandFailure(`What answers at ${url} is no Gatehouse: status ${status}, and not JSON.`, {
    details: ["Say where Gatehouse is: --url, or GATEHOUSE_URL."],
  });
}

function problemFailure(problem: Problem): CommandFailure {
  const { title, status, detail, errors = [], requestId } = problem;
  return new CommandFailure(`${title} (${status}).`, {
    details: [detail, ...errors.map(({ pointer, message }) => `  ${pointer}  ${message}`), `Request id: ${requestId}`],
    body: problem,
  });
}
