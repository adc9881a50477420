/** The typed client of the API, in the session of the page. */
import type { ItemAt, ListPath, PathOfArray } from "@gatehouse/client/calls";
import { GatehouseError } from "@gatehouse/client/errors";
import { createGatehouse, type Gatehouse } from "@gatehouse/client/gatehouse";
import { sendNoting } from "./own-requests.ts";
import { nextSignIn } from "./session-end.ts";
import { withConfirmation } from "./step-up.ts";

const gatehouse = createGatehouse({ url: globalThis.location.origin, fetch: sendNoting });

type Method = "get" | "post" | "postMany" | "put" | "patch" | "delete" | "read" | "part";
const methods: readonly Method[] = ["get", "post", "postMany", "put", "patch", "delete", "read", "part"];

/**
 * The client's methods. If the session has ended, a call waits for the next sign-in and is then repeated, so that no
 * input is lost.
 */
export const api = Object.fromEntries(
  methods.map((method) => [
    method,
    // Typed below. Each method forwards its arguments.
    (...args: unknown[]) => inSession(() => (gatehouse[method] as (...args: unknown[]) => Promise<unknown>)(...args)),
  ]),
) as unknown as Pick<Gatehouse, Method>;

/** Makes a call, and repeats it after the person has signed in or confirmed if the server asks for that. */
export async function inSession<T>(call: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await withConfirmation(call, needsConfirmation);
    } catch (error) {
      if (!isSignedOut(error)) throw error;
      await nextSignIn();
    }
  }
}

function isSignedOut(error: unknown): boolean {
  return error instanceof GatehouseError && error.status === 401 && !needsConfirmation(error);
}

function needsConfirmation(error: unknown): boolean {
  return error instanceof GatehouseError && error.code === "recent_authentication_required";
}

/** A page of a list. */
export interface PageOf<Row> {
  readonly data: readonly Row[];
  readonly total: number;
}

export type ListQuery = Readonly<Record<string, string | number>>;

/** A list that the server pages. */
export interface PagedSource<Row> {
  readonly kind: "paged";
  readonly path: string;
  read(query: ListQuery, signal?: AbortSignal): Promise<PageOf<Row>>;
}

/** A list that the server returns in one response. */
export interface WholeSource<Row> {
  readonly kind: "whole";
  readonly path: string;
  read(signal?: AbortSignal): Promise<readonly Row[]>;
  /** Reads a part of the list. Absent if the list is always short. */
  readonly readPart?: ReadPart<Row>;
}

type ReadPart<Row> = (
  query: { readonly limit: number; readonly offset: number },
  signal?: AbortSignal,
) => Promise<PageOf<Row>>;

/** The most items that the server sends of a list if a request asks for a part. */
export const mostInPart = 100;

/** The client's `get` for any list. The definition of each list knows the query that its path accepts. */
const getList = api.get as unknown as (
  path: string,
  options: {
    readonly path?: Readonly<Record<string, string>>;
    readonly query?: ListQuery;
    readonly signal?: AbortSignal;
  },
) => Promise<unknown>;

/** @param of the values of the path parameters */
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

/** A list that the server returns in one response, or in parts without search, filters and order. */
export function inParts<P extends PathOfArray & ListPath>(
  path: P,
): WholeSource<ItemAt<P>> & { readonly readPart: ReadPart<ItemAt<P>> } {
  return {
    ...whole(path),
    readPart: async (query, signal) => {
      const { items, total } = await getPart(path, { query, ...(signal === undefined ? {} : { signal }) });
      return { data: items as readonly ItemAt<P>[], total }; // by its path
    },
  };
}

const getPart = api.part as unknown as (
  path: string,
  options: { readonly query: ListQuery; readonly signal?: AbortSignal },
) => Promise<{ readonly items: unknown; readonly total: number }>;
