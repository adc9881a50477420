/**
 * Validates large bodies in slices (docs/decisions/0079). Small items of arrays are validated together. Other objects
 * and arrays are validated without their parts, and then part by part. Only the first error is found.
 */
import type { Work } from "@gatehouse/policy/work";
import type { ErrorObject, ValidateFunction } from "ajv";
import { nodesIn, smallNodes } from "../platform/json-slices.ts";

/** The cost of validating a node, in rule-cost units. */
const nodeCost = 25;

interface Schema {
  readonly type?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly uniqueItems?: boolean;
}

type ArraySchema = Schema & { readonly items: Schema };
type ObjectSchema = Schema & { readonly properties: Readonly<Record<string, Schema>> };

function isArraySchema(schema: Schema): schema is ArraySchema {
  return schema.type === "array" && schema.items !== undefined;
}

function isObjectSchema(schema: Schema): schema is ObjectSchema {
  return schema.type === "object" && schema.properties !== undefined;
}

export class LargeBodyCheck {
  readonly #compile: (schema: object) => ValidateFunction;
  /** The checks of a schema by the part of it that they validate. */
  readonly #checks = new Map<Schema, Map<string, ValidateFunction>>();

  /** @param compile compiles a schema to a check that stops at the first error */
  constructor(compile: (schema: object) => ValidateFunction) {
    this.#compile = compile;
  }

  /** Compiles the checks of a schema. A check that is compiled during a request blocks the event loop. */
  prepare(schema: object): void {
    this.#prepare(schema as Schema); // JSON Schema
  }

  #prepare(schema: Schema): void {
    if (isArraySchema(schema)) {
      this.#length(schema);
      this.#list(schema.items);
      this.#prepare(schema.items);
    } else if (isObjectSchema(schema)) {
      this.#names(schema);
      for (const [name, part] of Object.entries(schema.properties)) {
        if (isArraySchema(part) || isObjectSchema(part)) this.#prepare(part);
        else this.#propertyOf(schema, name, part);
      }
    }
  }

  /**
   * Validates a value, and trims strings in place.
   *
   * @returns the errors of the first invalid part; none for a valid value
   */
  *check(schema: object, value: unknown): Work<readonly ErrorObject[]> {
    return yield* this.#part(schema as Schema, value, ""); // JSON Schema
  }

  *#part(schema: Schema, value: unknown, pointer: string): Work<readonly ErrorObject[]> {
    if (isArraySchema(schema) && Array.isArray(value)) return yield* this.#array(schema, value, pointer);
    if (isObjectSchema(schema) && isObject(value)) return yield* this.#object(schema, value, pointer);
    yield nodesIn(value) * nodeCost;
    return errorsOf(
      this.#checkOf(schema, "whole", () => schema),
      value,
      pointer,
    );
  }

  *#object(schema: ObjectSchema, value: Record<string, unknown>, pointer: string): Work<readonly ErrorObject[]> {
    yield smallNodes * nodeCost;
    const errors = errorsOf(this.#names(schema), value, pointer);
    if (errors.length > 0) return errors;
    for (const [name, part] of Object.entries(schema.properties)) {
      if (!Object.hasOwn(value, name)) continue;
      const hasParts = isArraySchema(part) || isObjectSchema(part);
      const found = hasParts
        ? yield* this.#part(part, value[name], `${pointer}/${name}`)
        : this.#property(schema, name, part, value, pointer);
      if (found.length > 0) return found;
    }
    return [];
  }

  /** Validates a property in its own object, because strings are trimmed in their object. */
  #property(
    schema: Schema,
    name: string,
    part: Schema,
    value: Record<string, unknown>,
    pointer: string,
  ): readonly ErrorObject[] {
    const alone = { [name]: value[name] };
    const errors = errorsOf(this.#propertyOf(schema, name, part), alone, pointer);
    value[name] = alone[name];
    return errors;
  }

  *#array(schema: ArraySchema, value: unknown[], pointer: string): Work<readonly ErrorObject[]> {
    const errors = errorsOf(this.#length(schema), value, pointer);
    if (errors.length > 0) return errors;
    let start = 0;
    while (start < value.length) {
      let [end, nodes] = [start, 0];
      for (; end < value.length && nodes < smallNodes; end += 1) {
        const more = nodesIn(value[end]);
        if (more > smallNodes / 2 && end > start) break;
        nodes += more;
      }
      yield nodes * nodeCost;
      const found = yield* this.#items(schema.items, value, start, end, pointer);
      if (found.length > 0) return found;
      start = end;
    }
    return schema.uniqueItems === true ? yield* duplicates(value, pointer) : [];
  }

  /** Validates small items together, or one large item. */
  *#items(items: Schema, value: unknown[], start: number, end: number, pointer: string): Work<readonly ErrorObject[]> {
    if (end - start === 1 && nodesIn(value[start]) > smallNodes / 2) {
      return yield* this.#part(items, value[start], `${pointer}/${start}`);
    }
    const batch = value.slice(start, end);
    const errors = errorsOf(this.#list(items), batch, pointer);
    // Strings were trimmed in the copy.
    for (const [index, item] of batch.entries()) value[start + index] = item;
    return errors.map((error) => ({ ...error, instancePath: shifted(error.instancePath, pointer, start) }));
  }

  #names(schema: ObjectSchema): ValidateFunction {
    const none = () => Object.fromEntries(Object.keys(schema.properties).map((name) => [name, {}]));
    return this.#checkOf(schema, "names", () => ({ ...schema, properties: none() }));
  }

  #propertyOf(schema: Schema, name: string, part: Schema): ValidateFunction {
    return this.#checkOf(schema, `property ${name}`, () => ({ type: "object", properties: { [name]: part } }));
  }

  #length(schema: Schema): ValidateFunction {
    return this.#checkOf(schema, "length", () => ({ ...schema, items: {}, uniqueItems: false }));
  }

  #list(items: Schema): ValidateFunction {
    return this.#checkOf(items, "list", () => ({ type: "array", items }));
  }

  #checkOf(schema: Schema, what: string, partOf: () => object): ValidateFunction {
    const checks = this.#checks.get(schema) ?? new Map<string, ValidateFunction>();
    this.#checks.set(schema, checks);
    const known = checks.get(what);
    if (known !== undefined) return known;
    const check = this.#compile(partOf());
    checks.set(what, check);
    return check;
  }
}

function errorsOf(check: ValidateFunction, value: unknown, pointer: string): readonly ErrorObject[] {
  if (check(value)) return [];
  return (check.errors ?? []).map((error) => ({ ...error, instancePath: pointer + error.instancePath }));
}

/** The path with the index of an item in its array instead of its index in a part of the array. */
function shifted(path: string, pointer: string, start: number): string {
  const [index = "", ...rest] = path.slice(pointer.length + 1).split("/");
  return index === "" ? path : [pointer, Number(index) + start, ...rest].join("/");
}

/** Like the keyword `uniqueItems`, for strings. */
function* duplicates(items: readonly unknown[], pointer: string): Work<readonly ErrorObject[]> {
  const known = new Map<unknown, number>();
  for (const [index, item] of items.entries()) {
    if (index % smallNodes === 0) yield smallNodes * nodeCost;
    const text = typeof item === "string" ? item : JSON.stringify(item);
    const other = known.get(text);
    known.set(text, index);
    if (other === undefined) continue;
    const message = `must NOT have duplicate items (items ## ${other} and ${index} are identical)`;
    const params = { i: index, j: other };
    return [{ keyword: "uniqueItems", instancePath: pointer, schemaPath: "", params, message }];
  }
  return [];
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
