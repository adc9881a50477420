/** The types of calls, derived from the generated types. */
import type { FilterOperator, paths } from "./generated/api.ts";

export type Method = "get" | "post" | "put" | "patch" | "delete";

/** Paths with an operation of this method whose response is JSON or empty. Streams of text are excluded. */
export type PathWith<M extends Method> = {
  [P in keyof paths]: [paths[P][M]] extends [undefined]
    ? never
    : RespondsWithText<paths[P][M]> extends true
      ? never
      : P;
}[keyof paths];

type RespondsWithText<O> = O extends { readonly responses: { readonly 200: { readonly content: infer Content } } }
  ? "application/json" extends keyof Content
    ? false
    : true
  : false;

type OperationAt<P extends keyof paths, M extends Method> = NonNullable<paths[P][M]>;

/** The property of an operation with this name, without undefined. */
type Part<T, Name extends string> = T extends { readonly [N in Name]?: infer Found } ? NonNullable<Found> : never;
type Parameters<O, Place extends string> = Part<Part<O, "parameters">, Place>;

type PathOption<O> = [Parameters<O, "path">] extends [never] ? unknown : { readonly path: Parameters<O, "path"> };

/** Filters with an operator. The OpenAPI document declares only the filter for equality. */
type ComparingFilters<Q> = {
  readonly [K in keyof Q as K extends `filter[${infer Field}]` ? `filter[${Field}][${FilterOperator}]` : never]?:
    | string
    | number
    | boolean;
};
type QueryOption<O, Left extends string> = [Parameters<O, "query">] extends [never]
  ? unknown
  : { readonly query?: Omit<Parameters<O, "query">, Left> & ComparingFilters<Parameters<O, "query">> };

type Json<T> = T extends { readonly content: { readonly "application/json": infer Body } } ? Body : never;

/** The body of an operation; `never` if it has none. */
type BodyOf<O> = Json<Part<O, "requestBody">>;
type BodyOption<O, Body> = [Body] extends [never]
  ? unknown
  : O extends { readonly requestBody: object }
    ? { readonly body: Body }
    : { readonly body?: Body };

type IfMatchOption<O> = "If-Match" extends keyof Parameters<O, "header">
  ? {
      /** The ETag of the version to change, as returned by `read`. Another version fails with 412. */
      readonly ifMatch?: string;
    }
  : unknown;
type IdempotencyOption<O> = "Idempotency-Key" extends keyof Parameters<O, "header">
  ? {
      /** Generated for each call by default. A caller that stores it can repeat the call after a crash. */
      readonly idempotencyKey?: string;
    }
  : unknown;

type OverrideOption<O> = "Gatehouse-Override-Reason" extends keyof Parameters<O, "header">
  ? {
      /** The reason for overriding access tests. It is stored in the audit record. */
      readonly overrideReason?: string;
    }
  : unknown;

/** Options of every call. */
export interface CommonOptions {
  readonly signal?: AbortSignal;
  /** Time limit of one attempt in milliseconds. Defaults to the client's `timeoutMs`. */
  readonly timeoutMs?: number;
}

type One<T> = Exclude<T, readonly unknown[]>;
type Many<T> = Extract<T, readonly unknown[]>;

type Options<O, Body, Left extends string = never> = CommonOptions &
  PathOption<O> &
  QueryOption<O, Left> &
  BodyOption<O, Body> &
  IfMatchOption<O> &
  IdempotencyOption<O> &
  OverrideOption<O>;

export type OptionsOf<P extends keyof paths, M extends Method> = Options<
  OperationAt<P, M>,
  One<BodyOf<OperationAt<P, M>>>
>;

/** Options are optional if none of them is required. */
export type Arguments<O> = Record<never, never> extends O ? [options?: O] : [options: O];

type SuccessOf<O> = O extends { readonly responses: infer R } ? Json<R[keyof R]> : never;

/** Undefined for a response without a body. */
type OrNothing<T> = [T] extends [never] ? undefined : T;

/** The result of an operation. If the operation also accepts arrays, the result for a single item. */
export type ResultOf<P extends keyof paths, M extends Method> = OrNothing<
  [Many<BodyOf<OperationAt<P, M>>>] extends [never] ? SuccessOf<OperationAt<P, M>> : One<SuccessOf<OperationAt<P, M>>>
>;

/** Operations that also accept an array and return one. */
export type PathOfMany = {
  [P in PathWith<"post">]: [Many<BodyOf<OperationAt<P, "post">>>] extends [never] ? never : P;
}[PathWith<"post">];
export type OptionsOfMany<P extends PathOfMany> = Options<OperationAt<P, "post">, Many<BodyOf<OperationAt<P, "post">>>>;
export type ResultOfMany<P extends PathOfMany> = Many<SuccessOf<OperationAt<P, "post">>>;

type ItemOf<T> = T extends readonly (infer Item)[]
  ? Item
  : T extends { readonly data: readonly (infer Item)[]; readonly hasNext: boolean }
    ? Item
    : never;

/** Lists, with or without pages. */
export type ListPath = {
  [P in PathWith<"get">]: [ItemOf<ResultOf<P, "get">>] extends [never] ? never : P;
}[PathWith<"get">];
export type ItemAt<P extends ListPath> = ItemOf<ResultOf<P, "get">>;
export type ListOptionsOf<P extends ListPath> = Options<
  OperationAt<P, "get">,
  never,
  "limit" | "offset" | "page[limit]" | "page[offset]"
>;

type HeadersOf<O> = O extends { readonly responses: { readonly 200: { headers: infer H } } } ? H : never;

/** Paths of records with an ETag. */
export type RecordPath = {
  [P in PathWith<"get">]: HeadersOf<OperationAt<P, "get">> extends { readonly ETag: unknown } ? P : never;
}[PathWith<"get">];

/** Paths of lists without pages. */
export type PathOfArray = {
  [P in PathWith<"get">]: ResultOf<P, "get"> extends readonly unknown[] ? P : never;
}[PathWith<"get">];
