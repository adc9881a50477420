/** Calls the HTTP API as any client does: with a key, and no privileges of its own. */
import type { Problem } from "@gatehouse/contract/problem";
import { type AnswerCheck, isPageOf, isProblem } from "./answers.ts";
import { CommandFailure } from "./failure.ts";

/** For a whole answer, in milliseconds. */
const defaultTimeoutMs = 30_000;

export interface CallOptions {
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
  /** For a whole answer, in milliseconds. */
  readonly timeoutMs?: number;
}

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
   * @param isExpected whether the body is what the operation's declaration says; undefined stands for no body
   * @returns the body of the answer
   * @throws CommandFailure when there is no answer, one that says no, or one that is not Gatehouse's
   */
  async call<T>(
    method: "GET" | "POST" | "DELETE",
    path: string,
    isExpected: AnswerCheck<T>,
    body?: object,
    options: Omit<CallOptions, "body"> = {},
  ): Promise<T> {
    const { response, text } = await this.#send(method, path, body === undefined ? options : { ...options, body });
    if (response.status >= 300 && response.status < 400) throw this.#redirected(response, path);
    const answer = this.#parsed(response, text);
    if (response.ok && isExpected(answer)) return answer;
    if (!response.ok && isProblem(answer)) throw problemFailure(answer); // every error of the API is one
    throw notGatehouse(this.#url, response.status, "not what Gatehouse answers");
  }

  /** Every item of a paginated list. */
  async *pages<T>(path: string, isItem: AnswerCheck<T>): AsyncGenerator<T> {
    const isPage = isPageOf(isItem);
    for (let offset = 0; ; offset += pageLimit) {
      const page = await this.call("GET", `${path}?limit=${pageLimit}&offset=${offset}`, isPage);
      yield* page.data;
      if (!page.hasNext) return;
    }
  }

  /** Redirects are not followed: the key would go with them, to whoever they name. */
  async #send(method: string, path: string, options: CallOptions): Promise<{ response: Response; text: string }> {
    const { body, headers, timeoutMs = defaultTimeoutMs } = options;
    try {
      const response = await fetch(this.#url + path, {
        method,
        redirect: "manual",
        headers: {
          apikey: this.#key,
          ...(body === undefined ? {} : { "content-type": "application/json" }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(timeoutMs),
      });
      return { response, text: await response.text() };
    } catch (error) {
      throw new CommandFailure(`No Gatehouse answers at ${this.#url}: ${reasonOf(error)}.`, {
        details: ["Start it with gatehouse serve, or say where it is: --url, or GATEHOUSE_URL."],
      });
    }
  }

  /** @returns undefined for the answer that has no body */
  #parsed(response: Response, text: string): unknown {
    if (response.status === 204) return undefined;
    const isJson = /[/+]json/.test(response.headers.get("content-type") ?? "");
    if (!isJson) throw notGatehouse(this.#url, response.status, "not JSON");
    try {
      return JSON.parse(text);
    } catch {
      throw notGatehouse(this.#url, response.status, "not JSON");
    }
  }

  #redirected(response: Response, path: string): CommandFailure {
    const location = response.headers.get("location") ?? "";
    if (location === "" || !URL.canParse(location, this.#url + path)) {
      return notGatehouse(this.#url, response.status, "not JSON");
    }
    const { origin, pathname } = new URL(location, this.#url + path);
    const [ownPath = path] = path.split("?");
    const address = origin + (pathname.endsWith(ownPath) ? pathname.slice(0, -ownPath.length) : pathname);
    return new CommandFailure(
      `${this.#url} answers with a redirect to ${address}; give that address as --url, or as GATEHOUSE_URL.`,
    );
  }
}

/** What is behind fetch's "fetch failed". */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  if (cause instanceof AggregateError) return cause.errors.map(reasonOf).join(", ");
  return cause instanceof Error ? cause.message : String(cause);
}

function notGatehouse(url: string, status: number, found: string): CommandFailure {
  return new CommandFailure(`What answers at ${url} is no Gatehouse: status ${status}, and ${found}.`, {
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
