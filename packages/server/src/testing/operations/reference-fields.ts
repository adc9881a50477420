/** Finds the fields of a body that hold ids of other records: the strings declared as UUIDs. */

interface SchemaNode {
  readonly format?: string;
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly items?: SchemaNode;
  readonly anyOf?: readonly SchemaNode[];
}

/** Returns JSON Pointers with `*` for indices, such as `/groups/*`. */
export function referenceFields(schema: object | undefined, pointer = ""): readonly string[] {
  if (schema === undefined) return [];
  const { format, properties = {}, items, anyOf = [] } = schema as SchemaNode; // a JSON Schema
  return [
    ...(format === "uuid" ? [pointer] : []),
    ...Object.entries(properties).flatMap(([name, property]) => referenceFields(property, `${pointer}/${name}`)),
    ...(items === undefined ? [] : referenceFields(items, `${pointer}/*`)),
    ...anyOf.flatMap((branch) => referenceFields(branch, pointer)),
  ];
}
