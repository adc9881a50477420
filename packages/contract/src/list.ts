/** What a paginated list lets its callers sort and filter by, as data. */
import Type, { type TSchema } from "typebox";
import { closedObject } from "./schema.ts";

/** The kind of value that a field holds decides how a filter's text is read and which operators fit. */
export type FieldKind =
  | { readonly kind: "text" }
  | { readonly kind: "uuid" }
  | { readonly kind: "timestamp" }
  | { readonly kind: "integer" }
  | { readonly kind: "boolean" }
  | { readonly kind: "enum"; readonly values: readonly string[] };

export interface ListDeclaration {
  /** Fields that `sort` takes. Ties are broken by id; without `sort` the order is that of the ids. */
  readonly sort: readonly string[];
  /** Fields that `filter[field]` takes. */
  readonly filter: Readonly<Record<string, FieldKind>>;
}

export const filterOperators = ["eq", "ne", "gt", "gte", "lt", "lte", "ilike", "in", "nin"] as const;
export type FilterOperator = (typeof filterOperators)[number];

/** The operators that make sense for a kind of field. */
export function operatorsFor(field: FieldKind): readonly FilterOperator[] {
  switch (field.kind) {
    case "boolean":
      return ["eq", "ne", "in", "nin"];
    case "uuid":
    case "integer":
    case "timestamp":
      return filterOperators.filter((operator) => operator !== "ilike");
    case "text":
    case "enum":
      return filterOperators;
  }
}

export const defaultPageLimit = 10;
export const maxPageLimit = 100;
/** Items that a list lets its callers skip at most. */
export const maxPageOffset = 1_000_000_000;
/** Values that `in` and `nin` take at most. */
export const maxFilterValues = 100;

/** Keeps the literal types of a list's declaration. */
export function list<const L extends ListDeclaration>(declaration: L): L {
  return declaration;
}

/** The wrapper that paginated lists answer with (PaginatedDto of the specification). */
export function pageOf(item: TSchema) {
  const count = { type: "integer", minimum: 0 } as const;
  return closedObject({
    data: Type.Array(item),
    total: Type.Unsafe<number>({ ...count, description: "Items that match, on all pages together." }),
    page: Type.Unsafe<number>({ ...count, description: "The page's number from 0: floor(offset / limit)." }),
    limit: Type.Unsafe<number>({ ...count, description: "Items on a page; at most 100, whatever was asked for." }),
    hasNext: Type.Boolean(),
    hasPrevious: Type.Boolean(),
  });
}

/** A page of a list, as answered. */
export interface Page<T> {
  readonly data: readonly T[];
  readonly total: number;
  readonly page: number;
  readonly limit: number;
  readonly hasNext: boolean;
  readonly hasPrevious: boolean;
}
