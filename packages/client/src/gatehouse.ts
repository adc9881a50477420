/** The typed client of the API. */
import type {
  Arguments,
  ItemAt,
  ListOptionsOf,
  ListPath,
  OptionsOf,
  OptionsOfMany,
  PathOfArray,
  PathOfMany,
  PathWith,
  RecordPath,
  ResultOf,
  ResultOfMany,
} from "./calls.ts";
import { UnexpectedResponseError } from "./errors.ts";
import { itemsOf } from "./lists.ts";
import { type ApiResponse, type Outgoing, Transport, type TransportOptions } from "./transport.ts";

export interface GatehouseOptions extends TransportOptions {}

/**
 * A client with one method for each HTTP method, and methods for lists and versioned records.
 *
 * Paths come from the OpenAPI document. Options are `path` (values of the path parameters), `query`, `body`,
 * `ifMatch`, `idempotencyKey`, `signal` and `timeoutMs`, if the operation supports them. Methods return the response
 * body.
 *
 * Every method throws one of the errors of `errors.ts`, or the reason with which `signal` was aborted.
 */
export interface Gatehouse {
  get<P extends PathWith<"get">>(path: P, ...options: Arguments<OptionsOf<P, "get">>): Promise<ResultOf<P, "get">>;
  /** Every call has an idempotency key, given or generated, and is therefore retried without a response. */
  post<P extends PathWith<"post">>(path: P, ...options: Arguments<OptionsOf<P, "post">>): Promise<ResultOf<P, "post">>;
  /** `post` with an array, which is processed in one transaction. */
  postMany<P extends PathOfMany>(path: P, options: OptionsOfMany<P>): Promise<ResultOfMany<P>>;
  put<P extends PathWith<"put">>(path: P, ...options: Arguments<OptionsOf<P, "put">>): Promise<ResultOf<P, "put">>;
  /** Sent only once, because a PATCH is not always safe to repeat. */
  patch<P extends PathWith<"patch">>(
    path: P,
    ...options: Arguments<OptionsOf<P, "patch">>
  ): Promise<ResultOf<P, "patch">>;
  delete<P extends PathWith<"delete">>(
    path: P,
    ...options: Arguments<OptionsOf<P, "delete">>
  ): Promise<ResultOf<P, "delete">>;
  /**
   * Yields every item of a list, with or without pages: `for await (const user of gatehouse.list("/tenants/users")) …`
   */
  list<P extends ListPath>(path: P, ...options: Arguments<ListOptionsOf<P>>): AsyncGenerator<ItemAt<P>, void>;
  /** Returns the record with its ETag, for the `ifMatch` of a write. */
  read<P extends RecordPath>(
    path: P,
    ...options: Arguments<OptionsOf<P, "get">>
  ): Promise<{ readonly record: ResultOf<P, "get">; readonly etag: string }>;
  /** Returns a part of a list without pages, as `limit` and `offset` of the query select it, and the list's length. */
  part<P extends PathOfArray>(
    path: P,
    ...options: Arguments<OptionsOf<P, "get">>
  ): Promise<{ readonly items: ResultOf<P, "get">; readonly total: number }>;
}

/** @throws TypeError for a malformed URL or key */
export function createGatehouse(options: GatehouseOptions): Gatehouse {
  const transport = new Transport(options);
  type CallOptions = Omit<Outgoing, "method" | "template">;

  const send = (method: string, template: string, given: CallOptions = {}): Promise<ApiResponse> =>
    transport.send({ ...given, method, template });
  const call = (method: string) => async (template: string, given?: CallOptions) =>
    (await send(method, template, given)).body;
  const post = (template: string, given: CallOptions = {}) =>
    call("POST")(template, { ...given, idempotencyKey: given.idempotencyKey ?? newIdempotencyKey() });

  // Path, option and response types come from the OpenAPI document.
  return {
    get: call("GET"),
    post,
    postMany: post,
    put: call("PUT"),
    patch: call("PATCH"),
    delete: call("DELETE"),
    list: (template: string, given: CallOptions = {}) => itemsOf(transport, { ...given, method: "GET", template }),
    read: async (template: string, given?: CallOptions) => {
      const { body, headers, status } = await send("GET", template, given);
      const etag = headers.get("etag");
      // Without an ETag, a write that should fail with 412 would succeed.
      if (etag === null) throw new UnexpectedResponseError(transport.url, status, "without an ETag");
      return { record: body, etag };
    },
    part: async (template: string, given?: CallOptions) => {
      const { body, headers, status } = await send("GET", template, given);
      // Without `limit` and `offset`, the response is the whole list and has no total.
      const total = Number(headers.get("x-total-count") ?? (Array.isArray(body) ? body.length : Number.NaN));
      if (!Number.isSafeInteger(total)) throw new UnexpectedResponseError(transport.url, status, "without a total");
      return { items: body, total };
    },
  } as unknown as Gatehouse;
}

/** 128 random bits. `crypto.randomUUID` is not available in pages that were not loaded over TLS. */
function newIdempotencyKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
