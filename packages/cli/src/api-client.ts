/** Calls the HTTP API as any client does: with a key, and no privileges of its own. */
import { ForeignAnswerError, GatehouseError, NoAnswerError } from "@gatehouse/client/errors";
import { createGatehouse, type Gatehouse } from "@gatehouse/client/gatehouse";
import type { AnswerCheck } from "./answers.ts";
import { CommandFailure } from "./failure.ts";

export class ApiClient {
  readonly #url: string;
  readonly #gatehouse: Gatehouse;
  #status = 0;
  #headers = new Headers();

  /** @param url where Gatehouse serves, such as http://127.0.0.1:8080 */
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
   * @param call what to ask: `(gatehouse) => gatehouse.get("/tenants/api-keys")`
   * @param isExpected whether the answer is what the command goes on with; undefined stands for no body
   * @throws CommandFailure when there is no answer, one that says no, or one that is not Gatehouse's
   */
  async ask<T>(call: (gatehouse: Gatehouse) => Promise<unknown>, isExpected: AnswerCheck<T>): Promise<T> {
    try {
      const answer = await call(this.#gatehouse);
      if (isExpected(answer)) return answer;
    } catch (error) {
      throw failureOf(error);
    }
    throw this.#unexpected();
  }

  /** What the last answer said beside its body. */
  get headers(): Headers {
    return this.#headers;
  }

  /**
   * Every item of a list, as it is read.
   *
   * @param call the list: `(gatehouse) => gatehouse.list("/operator/tenants")`
   * @throws CommandFailure as `ask` does
   */
  async *items<T>(call: (gatehouse: Gatehouse) => AsyncIterable<unknown>, isItem: AnswerCheck<T>): AsyncGenerator<T> {
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
    return notGatehouse(new ForeignAnswerError(this.#url, this.#status, "not what Gatehouse answers"));
  }
}

/** What a person is told; other errors are told as they are. */
function failureOf(error: unknown): unknown {
  if (error instanceof GatehouseError) return problemFailure(error);
  if (error instanceof NoAnswerError) {
    return new CommandFailure(error.message, {
      details: ["Start it with gatehouse serve, or say where it is: --url, or GATEHOUSE_URL."],
    });
  }
  if (!(error instanceof ForeignAnswerError)) return error;
  if (error.redirectsTo === undefined) return notGatehouse(error);
  return new CommandFailure(
    `${error.url} answers with a redirect to ${error.redirectsTo}; give that address as --url, or as GATEHOUSE_URL.`,
  );
}

function notGatehouse({ message }: ForeignAnswerError): CommandFailure {
  return new CommandFailure(message, { details: ["Say where Gatehouse is: --url, or GATEHOUSE_URL."] });
}

function problemFailure({ problem, errors }: GatehouseError): CommandFailure {
  const { title, status, detail, requestId } = problem;
  return new CommandFailure(`${title} (${status}).`, {
    details: [detail, ...errors.map(({ pointer, message }) => `  ${pointer}  ${message}`), `Request id: ${requestId}`],
    problem,
  });
}
