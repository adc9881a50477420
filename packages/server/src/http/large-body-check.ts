/**
 * Validates large bodies in slices (docs/decisions/0079). Parts of a body that are small are validated at once. Large
 * objects and arrays are validated without their parts, and then part by part. Only the first error is found.
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

export class LargeBodyCheck {
  readonly #compile: (schema: object) => ValidateFunction;
  /** The checks of a schema by the part of it that they validate. */
  readonly #checks = new Map<Schema, Map<string, ValidateFunction>>();

  /** @param compile compiles a schema to a check that stops at the first error */
  constructor(compile: (schema: object) => ValidateFunction) {
    this.#compile = compile;
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
    if (Array.isArray(value) && schema.type === "array" && schema.items !== undefined && nodesIn(value) > smallNodes) {
      return yield* this.#array(schema, schema.items, value, pointer);
    }
    if (isObject(value) && schema.type === "object" && schema.properties !== undefined && nodesIn(value) > smallNodes) {
      return yield* this.#object(schema, schema.properties, value, pointer);
    }
    yield nodesIn(value) * nodeCost;
    return errorsOf(
      this.#checkOf(schema, "whole", () => schema),
      value,
      pointer,
    );
  }

  *#object(
    schema: Schema,
    properties: Readonly<Record<string, Schema>>,
    value: Record<string, unknown>,
    pointer: string,
  ): Work<readonly ErrorObject[]> {
    const none = () => Object.fromEntries(Object.keys(properties).map((name) => [name, {}]));
    const names = this.#checkOf(schema, "names", () => ({ ...schema, properties: none() }));
    yield smallNodes * nodeCost;
    const errors = errorsOf(names, value, pointer);
    if (errors.length > 0) return errors;
    for (const [name, part] of Object.entries(properties)) {
      if (!Object.hasOwn(value, name)) continue;
      const found =
        nodesIn(value[name]) > smallNodes
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
    const check = this.#checkOf(schema, `property ${name}`, () => ({ type: "object", properties: { [name]: part } }));
    const alone = { [name]: value[name] };
    const errors = errorsOf(check, alone, pointer);
    value[name] = alone[name];
    return errors;
  }

  *#array(schema: Schema, items: Schema, value: unknown[], pointer: string): Work<readonly ErrorObject[]> {
    const counts = this.#checkOf(schema, "length", () => ({ ...schema, items: {}, uniqueItems: false }));
    const errors = errorsOf(counts, value, pointer);
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
      const found = yield* this.#items(items, value, start, end, pointer);
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
    const list = this.#checkOf(items, "list", () => ({ type: "array", items }));
    const errors = errorsOf(list, batch, pointer);
    // Strings were trimmed in the copy.
    for (const [index, item] of batch.entries()) value[start + index] = item;
    return errors.map((error) => ({ ...error, instancePath: shifted(error.instancePath, pointer, start) }));
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
