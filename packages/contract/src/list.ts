/** Declarations of paginated lists: the fields that callers can sort and filter by. */
import Type, { type TSchema } from "typebox";
import { closedObject } from "./schema.ts";

/** The kind of a field's values. It determines how filter values are parsed and which operators are available. */
export type FieldKind =
  | { readonly kind: "text" }
  | { readonly kind: "uuid" }
  | { readonly kind: "timestamp" }
  | { readonly kind: "integer" }
  | { readonly kind: "boolean" }
  | { readonly kind: "enum"; readonly values: readonly string[] };

export interface ListDeclaration {
  /** Fields that `sort` accepts. The id breaks ties; without `sort`, the list is ordered by id. */
  readonly sort: readonly string[];
  /** Fields that `filter[field]` accepts. */
  readonly filter: Readonly<Record<string, FieldKind>>;
}

export const filterOperators = ["eq", "ne", "gt", "gte", "lt", "lte", "ilike", "in", "nin"] as const;
export type FilterOperator = (typeof filterOperators)[number];

/** The operators that are available for a kind of field. */
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
/** The most items that `offset` can skip. */
export const maxPageOffset = 1_000_000_000;
/** The most values of `in` and `nin`. */
export const maxFilterValues = 100;

/** Declares a list, retaining its literal types. */
export function list<const L extends ListDeclaration>(declaration: L): L {
  return declaration;
}

/** The schema of a page (PaginatedDto of the specification). */
export function pageOf(item: TSchema) {
  const count = { type: "integer", minimum: 0 } as const;
  return closedObject({
    data: Type.Array(item),
    total: Type.Unsafe<number>({ ...count, description: "Number of matching items on all pages." }),
    page: Type.Unsafe<number>({
      ...count,
      description: "The page number, from 0: floor(offset / limit). With page[after], 0.",
    }),
    limit: Type.Unsafe<number>({
      ...count,
      description: "The most items on a page: the requested limit, but at most 100.",
    }),
    hasNext: Type.Boolean(),
    hasPrevious: Type.Boolean(),
  });
}

/** A page of a list in a response. */
export interface Page<T> {
  readonly data: readonly T[];
  readonly total: number;
  readonly page: number;
  readonly limit: number;
  readonly hasNext: boolean;
  readonly hasPrevious: boolean;
}
