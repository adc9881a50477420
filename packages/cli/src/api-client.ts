/** Calls the HTTP API with a key, without any privileges of its own. */
import { GatehouseError, NoResponseError, UnexpectedResponseError } from "@gatehouse/client/errors";
import { createGatehouse, type Gatehouse } from "@gatehouse/client/gatehouse";
import { CommandFailure } from "./failure.ts";
import type { ResponseCheck } from "./response-checks.ts";

export class ApiClient {
  readonly #url: string;
  readonly #gatehouse: Gatehouse;
  #status = 0;
  #headers = new Headers();

  /** @param url the server's base URL, such as http://127.0.0.1:8080 */
  constructor(url: string, key: string) {
    this.#url = url.replace(/\/+$/, "");
    this.#gatehouse = createGatehouse({
      url,
      apiKey: key,
      fetch: async (request) => {
        const response = await fetch(request);
        this.#status = response.status;
        this.#headers = response.headers;
        return response;
      },
    });
  }

  /**
   * Calls the API and validates the response.
   *
   * @param call the call: `(gatehouse) => gatehouse.get("/tenants/api-keys")`
   * @param isExpected whether the response has the fields that the command uses; undefined stands for no body
   * @throws CommandFailure if there is no response, an error, or a response that is not from Gatehouse
   */
  async call<T>(call: (gatehouse: Gatehouse) => Promise<unknown>, isExpected: ResponseCheck<T>): Promise<T> {
    try {
      const response = await call(this.#gatehouse);
      if (isExpected(response)) return response;
    } catch (error) {
      throw failureOf(error);
    }
    throw this.#unexpected();
  }

  /** The headers of the last response. */
  get headers(): Headers {
    return this.#headers;
  }

  /**
   * Yields every item of a list as it is read.
   *
   * @param call the list: `(gatehouse) => gatehouse.list("/operator/tenants")`
   * @throws CommandFailure as `call` does
   */
  async *items<T>(call: (gatehouse: Gatehouse) => AsyncIterable<unknown>, isItem: ResponseCheck<T>): AsyncGenerator<T> {
    try {
      for await (const item of call(this.#gatehouse)) {
        if (!isItem(item)) throw this.#unexpected();
        yield item;
      }
    } catch (error) {
      throw failureOf(error);
    }
  }

  #unexpected(): CommandFailure {
    return notGatehouse(new UnexpectedResponseError(this.#url, this.#status, "not a Gatehouse response"));
  }
}

/** The error to show to the user. Other errors are returned unchanged. */
function failureOf(error: unknown): unknown {
  if (error instanceof GatehouseError) return problemFailure(error);
  if (error instanceof NoResponseError) {
    return new CommandFailure(error.message, {
      details: ["Start Gatehouse with gatehouse serve, or set its address with --url or GATEHOUSE_URL."],
    });
  }
  if (!(error instanceof UnexpectedResponseError)) return error;
  if (error.redirectsTo === undefined) return notGatehouse(error);
  return new CommandFailure(
    `${error.url} redirects to ${error.redirectsTo}. Use that address for --url or GATEHOUSE_URL.`,
  );
}

function notGatehouse({ message }: UnexpectedResponseError): CommandFailure {
  return new CommandFailure(message, { details: ["Set the address of Gatehouse with --url or GATEHOUSE_URL."] });
}

function problemFailure({ problem, errors }: GatehouseError): CommandFailure {
  const { title, status, detail, requestId } = problem;
  return new CommandFailure(`${title} (${status}).`, {
    details: [detail, ...errors.map(({ pointer, message }) => `  ${pointer}  ${message}`), `Request id: ${requestId}`],
    problem,
  });
}
