/** Calls the HTTP API with a key or as a person, without any privileges of its own. */
import { GatehouseError, NoResponseError, UnexpectedResponseError } from "@gatehouse/client/errors";
import { createGatehouse, type Gatehouse } from "@gatehouse/client/gatehouse";
import { CommandFailure } from "./failure.ts";
import type { ResponseCheck } from "./response-checks.ts";
import { lockWaitInRequestMs } from "./sign-in/credential-file.ts";
import type { StoredSession } from "./sign-in/sign-in.ts";

export class ApiClient {
  readonly #url: string;
  readonly #gatehouse: Gatehouse;
  /** The person's session; undefined with a key. */
  readonly #session: StoredSession | undefined;
  #status = 0;
  #headers = new Headers();
  /** Whether a write of the current call was sent. Without its response, the outcome is unknown. */
  #sentWrite = false;
  /** Why the current call got no token. */
  #tokenFailure: CommandFailure | undefined;

  /**
   * @param url the server's base URL, such as http://127.0.0.1:8080
   * @param credential an API key, or the session of a person
   */
  constructor(url: string, credential: string | StoredSession) {
    this.#url = url.replace(/\/+$/, "");
    this.#session = typeof credential === "string" ? undefined : credential;
    this.#gatehouse = createGatehouse({
      url,
      ...(typeof credential === "string" ? { apiKey: credential } : {}),
      fetch: async (request) => {
        const send = (sent: Request) => this.#send(sent);
        const response = await (typeof credential === "string"
          ? send(request)
          : sendAs(credential, request, send).catch((error: unknown) => this.#noteFailure(error)));
        this.#tokenFailure = undefined;
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
   * @throws CommandFailure if the server does not respond, reports an error, or is not Gatehouse
   */
  async call<T>(call: (gatehouse: Gatehouse) => Promise<unknown>, isExpected: ResponseCheck<T>): Promise<T> {
    this.#sentWrite = false;
    this.#tokenFailure = undefined;
    try {
      // Another process may hold the tokens for longer than the time limit of a request.
      await this.#session?.accessToken();
      const response = await this.#confirmed(() => call(this.#gatehouse));
      if (isExpected(response)) return response;
    } catch (error) {
      throw this.#failureOf(error);
    }
    throw this.#unexpected();
  }

  /** Records the failure to get a token. Otherwise, the client would report a missing response. */
  #noteFailure(error: unknown): never {
    if (error instanceof CommandFailure) this.#tokenFailure = error;
    throw error;
  }

  async #send(request: Request): Promise<Response> {
    const writes = isWrite(request);
    try {
      const response = await fetch(request);
      this.#sentWrite ||= writes;
      return response;
    } catch (error) {
      this.#sentWrite ||= writes && !failedToConnect(error);
      throw error;
    }
  }

  /** Repeats a refused call after the person has authenticated again (RFC 9470), if a person is there to do so. */
  async #confirmed(call: () => Promise<unknown>): Promise<unknown> {
    try {
      return await call();
    } catch (error) {
      if (this.#session === undefined || !isChallenge(error) || process.stderr.isTTY !== true) throw error;
      await this.#session.confirm();
      return call();
    }
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
    this.#sentWrite = false;
    this.#tokenFailure = undefined;
    try {
      await this.#session?.accessToken();
      for await (const item of call(this.#gatehouse)) {
        if (!isItem(item)) throw this.#unexpected();
        yield item;
      }
    } catch (error) {
      throw this.#failureOf(error);
    }
  }

  #failureOf(error: unknown): unknown {
    if (this.#tokenFailure !== undefined) return this.#tokenFailure;
    if (!(error instanceof NoResponseError && this.#sentWrite)) return failureOf(error, this.#session);
    return new CommandFailure(error.message, {
      details: [
        "The connection was lost after the request was sent. Gatehouse may have performed the request.",
        "Check the outcome before you repeat the command.",
      ],
    });
  }

  #unexpected(): CommandFailure {
    return notGatehouse(new UnexpectedResponseError(this.#url, this.#status, "not a Gatehouse response"));
  }
}

async function sendAs(
  session: StoredSession,
  request: Request,
  send: (request: Request) => Promise<Response>,
): Promise<Response> {
  const again = request.clone();
  const token = await session.accessToken(lockWaitInRequestMs);
  request.headers.set("Authorization", `Bearer ${token}`);
  const response = await send(request);
  if (!refusesToken(response)) return response;
  const replaced = await session.replaced(token, lockWaitInRequestMs);
  if (replaced === undefined) return response;
  await response.body?.cancel();
  again.headers.set("Authorization", `Bearer ${replaced}`);
  return send(again);
}

/** Whether another token can help. It cannot if the person has to authenticate again (RFC 9470). */
function refusesToken({ status, headers }: Response): boolean {
  return status === 401 && headers.get("www-authenticate")?.includes("insufficient_user_authentication") !== true;
}

/** Questions, checks, plans and previews change nothing, although they are sent with POST. */
const questions = /\/access\/v1\/|\/(?:check|plan|preview)$/;

function isWrite({ method, url }: Request): boolean {
  return method !== "GET" && !questions.test(new URL(url).pathname);
}

/** Whether no connection was established, so that the request was not sent. */
function failedToConnect(error: unknown): boolean {
  const cause: unknown = error instanceof Error ? error.cause : undefined;
  // One error for each address of the host.
  if (cause instanceof AggregateError) return true;
  const { code = "", syscall = "" } = (cause ?? {}) as { readonly code?: string; readonly syscall?: string };
  if (syscall === "connect" || syscall === "getaddrinfo") return true;
  return /^(?:UND_ERR_CONNECT_TIMEOUT$|ERR_TLS_|ERR_SSL_|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/.test(code);
}

function isChallenge(error: unknown): boolean {
  return error instanceof GatehouseError && error.code === "recent_authentication_required";
}

/** The error to show to the user. Other errors are returned unchanged. */
function failureOf(error: unknown, session: StoredSession | undefined): unknown {
  if (session !== undefined && error instanceof GatehouseError) {
    const login = `gatehouse login --url ${session.url}`;
    if (isChallenge(error)) return problemFailure(error, [`Run ${login} --fresh, and repeat this command.`]);
    if (error.code === "session_ended") return problemFailure(error, [`Run ${login}.`]);
  }
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

/** @param remedy what to do, in addition to what the server says */
function problemFailure({ problem, errors }: GatehouseError, remedy: readonly string[] = []): CommandFailure {
  const { title, status, detail, requestId } = problem;
  return new CommandFailure(`${title} (${status}).`, {
    details: [
      detail,
      ...errors.map(({ pointer, message }) => `  ${pointer}  ${message}`),
      ...remedy,
      `Request id: ${requestId}`,
    ],
    problem,
  });
}
