/** References of changes to records that earlier changes of the same set create, written `@name`. Pure. */
import { changeNamePattern } from "@gatehouse/contract/records/change-set";
import { referenceKeyword } from "@gatehouse/contract/schema";
import type { Work } from "@gatehouse/policy/work";

/** The cost of copying a value, in rule-cost units. */
const copyCost = 30;

const reference = new RegExp(`^@(${changeNamePattern})$`);

/** Returns the name in `@name`; undefined for any other text. */
export function nameIn(text: string): string | undefined {
  return reference.exec(text)?.[1];
}

/**
 * Returns the path with other segments in place of names. The path stays unchanged if it is not encoded correctly.
 *
 * @param idOf returns the id for a name
 */
export function replaceInPath(path: string, idOf: (name: string) => string): string {
  try {
    const segments = path.split("/").map((segment) => {
      const name = nameIn(decodeURIComponent(segment));
      return name === undefined ? segment : idOf(name);
    });
    return segments.join("/");
  } catch {
    return path;
  }
}

interface SchemaNode {
  readonly format?: string;
  readonly [referenceKeyword]?: true;
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly items?: SchemaNode;
  readonly anyOf?: readonly SchemaNode[];
}

/** A field that holds `@name`. */
export interface NamedField {
  /** JSON Pointer. */
  readonly pointer: string;
  readonly name: string;
  /** Whether the field takes nothing but ids, so that `@name` is nothing but a reference. */
  readonly idOnly: boolean;
}

/**
 * Returns a copy of a body with other strings in place of references. Only fields that take ids hold references: a
 * description that begins with @ stays as it is.
 *
 * @param schema the declaration of the body
 * @param replacementOf returns undefined to keep the text
 */
export function* replaceInBody(
  body: unknown,
  schema: object | undefined,
  replacementOf: (field: NamedField) => string | undefined,
): Work<unknown> {
  return schema === undefined ? body : yield* replaced(body, [schema], "", replacementOf);
}

function* replaced(
  value: unknown,
  schemas: readonly SchemaNode[],
  pointer: string,
  replacementOf: (field: NamedField) => string | undefined,
): Work<unknown> {
  // Undeclared content can be nested deeper than the stack. Validation rejects it.
  if (schemas.length === 0) return value;
  const forms = schemas.flatMap(formsOf);
  if (typeof value === "string") {
    const name = nameIn(value);
    const idOnly = forms.some(({ format }) => format === "uuid");
    if (name === undefined || !(idOnly || forms.some((form) => form[referenceKeyword] === true))) return value;
    return replacementOf({ pointer, name, idOnly }) ?? value;
  }
  if (Array.isArray(value)) {
    const items = forms.flatMap((form) => (form.items === undefined ? [] : [form.items]));
    const copy: unknown[] = [];
    for (const [index, item] of value.entries()) {
      copy.push(yield* replaced(item, items, `${pointer}/${index}`, replacementOf));
      yield copyCost;
    }
    return copy;
  }
  if (value === null || typeof value !== "object") return value;
  const copy: [string, unknown][] = [];
  for (const [key, item] of Object.entries(value)) {
    const properties = forms.flatMap(({ properties = {} }) => {
      const property = Object.hasOwn(properties, key) ? properties[key] : undefined;
      return property === undefined ? [] : [property];
    });
    copy.push([key, yield* replaced(item, properties, `${pointer}/${key}`, replacementOf)]);
    yield copyCost;
  }
  return Object.fromEntries(copy);
}

/** The schema and the alternatives in it. */
function formsOf(schema: SchemaNode): readonly SchemaNode[] {
  return [schema, ...(schema.anyOf ?? []).flatMap(formsOf)];
}

/**
 * Returns a copy of a value in which strings are replaced wherever they occur.
 *
 * @param replacements new strings by former strings; the former strings are random, so that no other text equals them
 */
export function* replaceStrings<T>(value: T, replacements: ReadonlyMap<string, string>): Work<T> {
  return (yield* withStrings(value, replacements)) as T; // strings replace strings
}

function* withStrings(value: unknown, replacements: ReadonlyMap<string, string>): Work<unknown> {
  if (typeof value === "string") return replacements.get(value) ?? value;
  if (value === null || typeof value !== "object") return value;
  yield copyCost;
  if (Array.isArray(value)) {
    const copy: unknown[] = [];
    for (const item of value) copy.push(yield* withStrings(item, replacements));
    return copy;
  }
  const copy: [string, unknown][] = [];
  for (const [key, item] of Object.entries(value)) copy.push([key, yield* withStrings(item, replacements)]);
  return Object.fromEntries(copy);
}
