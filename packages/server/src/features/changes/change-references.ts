/** References of changes to records that earlier changes of the same set create, written `@name`. Pure. */
import { changeNamePattern } from "@gatehouse/contract/records/change-set";
import { referenceKeyword } from "@gatehouse/contract/schema";

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
export function replaceInBody(
  body: unknown,
  schema: object | undefined,
  replacementOf: (field: NamedField) => string | undefined,
): unknown {
  return schema === undefined ? body : replaced(body, [schema], "", replacementOf);
}

function replaced(
  value: unknown,
  schemas: readonly SchemaNode[],
  pointer: string,
  replacementOf: (field: NamedField) => string | undefined,
): unknown {
  const forms = schemas.flatMap(formsOf);
  if (typeof value === "string") {
    const name = nameIn(value);
    const idOnly = forms.some(({ format }) => format === "uuid");
    if (name === undefined || !(idOnly || forms.some((form) => form[referenceKeyword] === true))) return value;
    return replacementOf({ pointer, name, idOnly }) ?? value;
  }
  if (Array.isArray(value)) {
    const items = forms.flatMap((form) => (form.items === undefined ? [] : [form.items]));
    if (items.length === 0) return value;
    return value.map((item, index) => replaced(item, items, `${pointer}/${index}`, replacementOf));
  }
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => {
      const properties = forms.flatMap(({ properties = {} }) => {
        const property = Object.hasOwn(properties, key) ? properties[key] : undefined;
        return property === undefined ? [] : [property];
      });
      return [key, replaced(item, properties, `${pointer}/${key}`, replacementOf)];
    }),
  );
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
export function replaceStrings<T>(value: T, replacements: ReadonlyMap<string, string>): T;
export function replaceStrings(value: unknown, replacements: ReadonlyMap<string, string>): unknown {
  if (typeof value === "string") return replacements.get(value) ?? value;
  if (Array.isArray(value)) return value.map((item) => replaceStrings(item, replacements));
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, replaceStrings(item, replacements)]));
}
