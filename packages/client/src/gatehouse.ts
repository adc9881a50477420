/** The client: one typed method for each of HTTP's, whole lists, and records with their versions. */
import type {
  Arguments,
  ItemAt,
  ListOptionsOf,
  ListPath,
  OptionsOf,
  OptionsOfMany,
  PathOfMany,
  PathWith,
  RecordPath,
  ResultOf,
  ResultOfMany,
} from "./calls.ts";
import { ForeignAnswerError } from "./errors.ts";
import { itemsOf } from "./lists.ts";
import { type Answer, type Outgoing, Transport, type TransportOptions } from "./transport.ts";

export interface GatehouseOptions extends TransportOptions {}

/**
 * Paths are those of the OpenAPI document. Options are `path` (what stands for its braces), `query`, `body`, `ifMatch`,
 * `idempotencyKey`, `signal` and `timeoutMs`, each where the operation takes it. What is answered is the body.
 *
 * Every method fails with one of `errors.ts`, or with what `signal` was aborted with.
 */
export interface Gatehouse {
  get<P extends PathWith<"get">>(path: P, ...options: Arguments<OptionsOf<P, "get">>): Promise<ResultOf<P, "get">>;
  /** Each call has an idempotency key, its own or one made for it, and so is repeated when no answer came. */
  post<P extends PathWith<"post">>(path: P, ...options: Arguments<OptionsOf<P, "post">>): Promise<ResultOf<P, "post">>;
  /** `post` of an array, which is done wholly or not at all. */
  postMany<P extends PathOfMany>(path: P, options: OptionsOfMany<P>): Promise<ResultOfMany<P>>;
  put<P extends PathWith<"put">>(path: P, ...options: Arguments<OptionsOf<P, "put">>): Promise<ResultOf<P, "put">>;
  /** Is sent once: repeat it yourself where that does no harm. */
  patch<P extends PathWith<"patch">>(
    path: P,
    ...options: Arguments<OptionsOf<P, "patch">>
  ): Promise<ResultOf<P, "patch">>;
  delete<P extends PathWith<"delete">>(
    path: P,
    ...options: Arguments<OptionsOf<P, "delete">>
  ): Promise<ResultOf<P, "delete">>;
  /** Every item of a list, paginated or not: `for await (const user of gatehouse.list("/tenants/users")) …` */
  list<P extends ListPath>(path: P, ...options: Arguments<ListOptionsOf<P>>): AsyncGenerator<ItemAt<P>, void>;
  /** As `get`, with the record's ETag, for the `ifMatch` of a write. */
  read<P extends RecordPath>(
    path: P,
    ...options: Arguments<OptionsOf<P, "get">>
  ): Promise<{ readonly record: ResultOf<P, "get">; readonly etag: string }>;
}

/** @throws TypeError for an address or a key that cannot be one */
export function createGatehouse(options: GatehouseOptions): Gatehouse {
  const transport = new Transport(options);
  type CallOptions = Omit<Outgoing, "method" | "template">;

  const send = (method: string, template: string, given: CallOptions = {}): Promise<Answer> =>
    transport.send({ ...given, method, template });
  const call = (method: string) => async (template: string, given?: CallOptions) =>
    (await send(method, template, given)).body;
  const post = (template: string, given: CallOptions = {}) =>
    call("POST")(template, { ...given, idempotencyKey: given.idempotencyKey ?? newIdempotencyKey() });

  // The types of paths and options are the document's, and so, of a Gatehouse, are the answers'.
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
      // Without it, a write that should be refused would go through.
      if (etag === null) throw new ForeignAnswerError(transport.url, status, "without an ETag");
      return { record: body, etag };
    },
  } as unknown as Gatehouse;
}

/** 128 random bits. `crypto.randomUUID` is missing from pages that were not loaded over TLS. */
function newIdempotencyKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
