/** The parameters of operations in the OpenAPI document. */
import { type ListDeclaration, operatorsFor } from "@gatehouse/contract/list";
import {
  changesEnforcement,
  defaultWaitSeconds,
  isConditional,
  maxWaitSeconds,
  type Operation,
  queryOf,
  type StreamSuccess,
  takesIfMatch,
  takesOverrideReason,
} from "@gatehouse/contract/operation";

type Json = Record<string, unknown>;

export function parametersOf(operation: Operation): unknown[] {
  const path = Object.entries(operation.parameters ?? {}).map(([name, kind]) => ({
    name,
    in: "path",
    required: true,
    schema: kind === "uuid" ? { type: "string", format: "uuid" } : { type: "string" },
  }));
  const flags = Object.entries(operation.flags ?? {}).map(([name, description]) => ({
    name,
    in: "query",
    description,
    schema: { type: "boolean", default: false },
  }));
  const query =
    operation.success.kind === "page"
      ? [...namedParameters(operation.success.query ?? {}), ...listParameters(operation.success.list)]
      : operation.success.kind === "stream"
        ? streamParameters(operation.success)
        : operation.success.kind === "array"
          ? [...flags, ...cutParameters]
          : [...flags, ...namedParameters(queryOf(operation))];
  const headers: unknown[] = [];
  if (isConditional(operation)) headers.push({ $ref: "#/components/parameters/IfNoneMatch" });
  if (takesIfMatch(operation)) headers.push({ $ref: "#/components/parameters/IfMatch" });
  if (operation.method === "POST") headers.push({ $ref: "#/components/parameters/IdempotencyKey" });
  if (takesOverrideReason(operation)) headers.push({ $ref: "#/components/parameters/OverrideReason" });
  return [...path, ...query, ...(changesEnforcement(operation) ? waitParameters : []), ...headers];
}

const waitParameters = [
  {
    name: "wait",
    in: "query",
    description:
      "`applied`: responds when every gateway that the change concerns has confirmed it, or when no other gateway can confirm it.",
    schema: { type: "string", enum: ["applied"] },
  },
  {
    name: "timeout",
    in: "query",
    description: "The longest wait in seconds.",
    schema: { type: "integer", minimum: 1, maximum: maxWaitSeconds, default: defaultWaitSeconds },
  },
];

function namedParameters(query: StreamSuccess["query"]): unknown[] {
  return Object.entries(query).map(([name, { description, values, maxLength, default: fallback }]) => ({
    name,
    in: "query",
    description,
    schema: {
      ...(maxLength !== undefined
        ? { type: "string", minLength: 1, maxLength }
        : values === undefined
          ? { type: "integer", minimum: 0 }
          : { type: "string", enum: [...values] }),
      ...(fallback === undefined ? {} : { default: fallback }),
    },
  }));
}

function streamParameters({ query, filter, live }: StreamSuccess): unknown[] {
  const lastEventId = {
    name: "Last-Event-ID",
    in: "header",
    description: "The position to resume after.",
    schema: { type: "integer", minimum: 0 },
  };
  return [...namedParameters(query), ...(live === true ? [lastEventId] : []), ...filterParameters(filter)];
}

function filterParameters(filter: ListDeclaration["filter"]): unknown[] {
  return Object.entries(filter).map(([field, kind]) => ({
    name: `filter[${field}]`,
    in: "query",
    description: `Matches equal values. \`filter[${field}][operator]\` supports the operators ${operatorsFor(kind).join(", ")}.`,
    schema:
      kind.kind === "enum"
        ? { type: "string", enum: [...kind.values] }
        : kind.kind === "boolean" || kind.kind === "integer"
          ? { type: kind.kind }
          : { type: "string", ...(kind.kind === "uuid" ? { format: "uuid" } : {}) },
  }));
}

function count(name: string, minimum: number, description: string, rest: Json = {}): Json {
  return { name, in: "query", description, schema: { type: "integer", minimum, ...rest } };
}

const pageParameter = count("page", 0, "Page number, from 0: the same as offset = page × limit.");

/** Parameters that cut a list that is an array. */
const cutParameters = [
  count("limit", 1, "The most items to return; all by default, or 10 with page."),
  count("offset", 0, "Number of items to skip.", { default: 0 }),
  pageParameter,
  count("page[limit]", 1, "The same as limit."),
  count("page[offset]", 0, "The same as offset."),
];

const afterParameter = {
  name: "page[after]",
  in: "query",
  description:
    "The id of the last record of the previous page, with the same sort and filters. Unlike an offset, it costs the same on every page, and no record is skipped or repeated when others are created or deleted. A record that was deleted gets 400.",
  schema: { type: "string", format: "uuid" },
};

function listParameters(list: ListDeclaration): unknown[] {
  return [
    count("limit", 1, "The most items on a page; values above 100 are reduced to 100.", { default: 10 }),
    count("offset", 0, "Number of items to skip.", { default: 0 }),
    pageParameter,
    count("page[limit]", 1, "The same as limit."),
    count("page[offset]", 0, "The same as offset."),
    ...(list.sort.length === 0 ? [] : [afterParameter]),
    {
      name: "sort",
      in: "query",
      description: `\`field\`, \`-field\`, \`field:asc\` or \`field:desc\`, repeated or separated by commas. Fields: ${list.sort.join(", ")}.`,
      schema: { type: "array", items: { type: "string" } },
      style: "form",
      explode: true,
    },
    ...filterParameters(list.filter),
  ];
}
