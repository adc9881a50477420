/** The console's way to the API: the typed client, with the page's session, which is renewed when it has ended. */
import type { ItemAt, ListPath } from "@gatehouse/client/calls";
import { GatehouseError } from "@gatehouse/client/errors";
import { createGatehouse, type Gatehouse } from "@gatehouse/client/gatehouse";
import { signedInAgain } from "./session-end.ts";

const gatehouse = createGatehouse({ url: globalThis.location.origin });

type Method = "get" | "post" | "postMany" | "put" | "patch" | "delete" | "read";
const methods: readonly Method[] = ["get", "post", "postMany", "put", "patch", "delete", "read"];

/**
 * As the client. A call whose session has ended waits until somebody has signed in again over the page, and is then made once
 * more: nothing that was typed is lost.
 */
export const api = Object.fromEntries(
  methods.map((method) => [
    method,
    // Typed below: each method passes on what it is given.
    (...given: unknown[]) =>
      inSession(() => (gatehouse[method] as (...given: unknown[]) => Promise<unknown>)(...given)),
  ]),
) as unknown as Pick<Gatehouse, Method>;

async function inSession<T>(call: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!isSignedOut(error)) throw error;
      await signedInAgain();
    }
  }
}

function isSignedOut(error: unknown): boolean {
  return error instanceof GatehouseError && error.status === 401;
}

/** A page of a list. */
export interface PageOf<Row> {
  readonly data: readonly Row[];
  readonly total: number;
}

export type ListQuery = Readonly<Record<string, string | number>>;

/** A list whose pages the server makes. */
export interface PagedSource<Row> {
  readonly kind: "paged";
  readonly path: string;
  read(query: ListQuery, signal?: AbortSignal): Promise<PageOf<Row>>;
}

/** A list that comes as a whole. */
export interface WholeSource<Row> {
  readonly kind: "whole";
  readonly path: string;
  read(signal?: AbortSignal): Promise<readonly Row[]>;
}

/** The client's `get` for any list: which query it takes is for the definition of the list to know. */
const getList = api.get as unknown as (
  path: string,
  options: {
    readonly path?: Readonly<Record<string, string>>;
    readonly query?: ListQuery;
    readonly signal?: AbortSignal;
  },
) => Promise<unknown>;

/** @param of what stands for the braces in the path */
export function paged<P extends ListPath>(path: P, of: Readonly<Record<string, string>> = {}): PagedSource<ItemAt<P>> {
  return {
    kind: "paged",
    path: Object.entries(of).reduce<string>((text, [name, value]) => text.replace(`{${name}}`, value), path),
    read: async (query, signal) =>
      (await getList(path, { path: of, query, ...(signal === undefined ? {} : { signal }) })) as PageOf<ItemAt<P>>, // by its path
  };
}

export function whole<P extends ListPath>(path: P): WholeSource<ItemAt<P>> {
  return {
    kind: "whole",
    path,
    read: async (signal) => (await getList(path, signal === undefined ? {} : { signal })) as readonly ItemAt<P>[], // by its path
  };
}
