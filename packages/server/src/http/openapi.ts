/** Generates the OpenAPI 3.0.3 document from the declarations of the operations. */
import { type ErrorCode, errorDefinitions } from "@gatehouse/contract/errors";
import { type ListDeclaration, operatorsFor, pageOf } from "@gatehouse/contract/list";
import {
  changesEnforcement,
  defaultWaitSeconds,
  errorsOf,
  isConditional,
  maxWaitSeconds,
  type Operation,
  type StreamSuccess,
  takesIfMatch,
  takesOverrideReason,
} from "@gatehouse/contract/operation";
import { Problem } from "@gatehouse/contract/problem";
import {
  componentKeyword,
  documentedKeyword,
  referenceKeyword,
  trimKeyword,
  validatedLaterKeyword,
} from "@gatehouse/contract/schema";
import type { TSchema } from "typebox";

type Json = Record<string, unknown>;

export function openApiDocument(operations: readonly Operation[]): Json {
  const schemas: Json = {};
  schemaOf(Problem, schemas);
  const paths: Record<string, Json> = {};
  for (const operation of operations) {
    const path = paths[operation.path] ?? {};
    path[operation.method.toLowerCase()] = describeOperation(operation, schemas);
    paths[operation.path] = path;
  }
  return {
    openapi: "3.0.3",
    info: {
      title: "Gatehouse Zero Trust Network Access Administration API",
      version: "1.0",
      description: "Manages who can access which private network resources. The API key determines the tenant.",
      license: { name: "Apache-2.0", url: "https://www.apache.org/licenses/LICENSE-2.0" },
    },
    servers: [{ url: "/", description: "This server" }],
    security: [{ apiKey: [] }, { bearerKey: [] }],
    tags: [...new Set(operations.map(({ tag }) => tag))].map((name) => ({
      name,
      description: tagDescriptions[name] ?? name,
    })),
    paths,
    components: {
      schemas: Object.fromEntries(Object.entries(schemas).sort(([a], [b]) => (a < b ? -1 : 1))),
      securitySchemes: {
        apiKey: { type: "apiKey", in: "header", name: "apikey", description: "An API key of the tenant." },
        bearerKey: { type: "http", scheme: "bearer", description: "An API key of the tenant." },
        operatorKey: { type: "apiKey", in: "header", name: "apikey", description: "The operator key." },
        bearerOperatorKey: { type: "http", scheme: "bearer", description: "The operator key." },
        session: {
          type: "apiKey",
          in: "cookie",
          name: "gatehouse_session",
          description:
            "The session of a person in a browser. Over TLS, the cookie is named `__Host-gatehouse_session`.",
        },
        accessToken: { type: "http", scheme: "bearer", description: "An access token of `gatehouse login`." },
      },
      headers,
      parameters: headerParameters,
    },
  };
}

const tagDescriptions: Readonly<Record<string, string>> = {
  Access: "Access decisions and searches (OpenID AuthZEN Authorization API 1.0).",
  Policies: "Rules that allow or deny access to resources under conditions.",
  Changes: "Sets of changes that are performed together or not at all.",
  Users: "People who connect to the network.",
  Groups: "Sets of users that policies refer to.",
  Roles: "Sets of permissions for administering the tenant.",
  Devices: "Machines with which users connect to the network.",
  Gateways: "Gateways that forward traffic between devices and resources.",
  Resources: "Destinations that policies grant access to.",
  Addresses: "Addresses of resources.",
  Protocols: "Protocols and ports of addresses.",
  "Admission rules": "Conditions that requests must meet in addition to a policy's other conditions.",
  "API keys": "Credentials for this API.",
  Configuration: "The tenant's configuration as one document that can be exported, planned and applied.",
  Events: "The audit record of all changes.",
  Webhooks: "Receivers of events.",
  Operator: "Tenants of the installation. These operations require the operator key.",
};

const headers = {
  ETag: {
    description: "The record's version, for If-Match. Weak, and not for If-Match, if the response has no version.",
    schema: { type: "string" },
  },
  "Cache-Control": {
    description:
      "`private, no-cache` for what is read; `no-store` for changes, errors, and responses that can contain a secret.",
    schema: { type: "string" },
  },
  Vary: { description: "The request headers that select the response.", schema: { type: "string" } },
  "Gatehouse-Event": {
    description:
      "Id of the audit entry of a write that can change access. Its access impact is at `/tenants/events/{id}/effect`. Omitted if nothing was changed.",
    schema: { type: "string", format: "uuid" },
  },
  "Gatehouse-Enforced": {
    description:
      "With `?wait=applied`: `applied` if every gateway that the change concerns enforces it, otherwise `incomplete`; followed by the tenant's generation, the number of these gateways, and the number of gateways that have not confirmed the change. `unknown` if the state could not be determined.",
    schema: { type: "string" },
  },
  "Gatehouse-Not-Enforced": {
    description:
      "With `?wait=applied`: the ids of up to 50 gateways that have not confirmed the change, each with its state as in `/tenants/gateways/{id}/sync`.",
    schema: { type: "string" },
  },
  "Idempotent-Replayed": {
    description:
      "`true` if the request was performed before with the same Idempotency-Key, and this is the stored response.",
    schema: { type: "string", enum: ["true"] },
  },
  Link: {
    description: "With `limit`, `offset` or `page`: the other parts of the list (`first`, `prev`, `next`, `last`).",
    schema: { type: "string" },
  },
  "X-Total-Count": {
    description: "With `limit`, `offset` or `page`: the number of items in the whole list.",
    schema: { type: "integer", minimum: 0 },
  },
  Location: { description: "The path of the created record.", schema: { type: "string" } },
  "RateLimit-Limit": { description: "Requests per minute that the key can make.", schema: { type: "integer" } },
  "RateLimit-Remaining": { description: "Remaining requests in this minute.", schema: { type: "integer" } },
  "RateLimit-Reset": { description: "Seconds until the count restarts.", schema: { type: "integer" } },
  "Retry-After": { description: "Seconds to wait before a retry.", schema: { type: "integer" } },
  "WWW-Authenticate": { description: "The authentication scheme.", schema: { type: "string" } },
  "X-Request-Id": {
    description: "Id of the request, as in the log and the audit record.",
    schema: { type: "string" },
  },
};

/** References to headers of responses, by name. */
function headersNamed(...names: (keyof typeof headers)[]): Json {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

const headerParameters = {
  IfMatch: {
    name: "If-Match",
    in: "header",
    description: "The ETag of the version to change. If the record has another version, the request fails with 412.",
    schema: { type: "string" },
  },
  IfNoneMatch: {
    name: "If-None-Match",
    in: "header",
    description: "The ETag of a response to the same request. If the list is unchanged, the response is 304.",
    schema: { type: "string" },
  },
  OverrideReason: {
    name: "Gatehouse-Override-Reason",
    in: "header",
    description:
      "The reason for overriding enforced access tests, stored in the audit record. 1 to 500 characters in UTF-8 with a letter or a digit, without control characters.",
    schema: { type: "string", minLength: 1, maxLength: 500 },
  },
  IdempotencyKey: {
    name: "Idempotency-Key",
    in: "header",
    description:
      "Makes the request safe to repeat for 24 hours: it is performed once, and repetitions get the same response.",
    schema: { type: "string", minLength: 1, maxLength: 255 },
  },
};

/** Converts a schema to OpenAPI 3.0. Collects components and replaces them with references. */
function schemaOf(schema: unknown, schemas: Json): unknown {
  if (Array.isArray(schema)) return schema.map((item) => schemaOf(item, schemas));
  if (schema === null || typeof schema !== "object") return schema;
  const entries = Object.entries(schema).filter(([key]) => !omittedKeywords.has(key));
  const plain = Object.fromEntries(entries.map(([key, value]) => [key, schemaOf(value, schemas)]));
  const converted = withConditions({ ...plain, ...nonBlank(schema as Json) }, (schema as Json)[documentedKeyword]);
  const name = (schema as Json)[componentKeyword];
  if (typeof name !== "string") return converted;
  // OpenAPI 3.0 ignores siblings of $ref, so a nullable component would not be nullable.
  if ("nullable" in schema) throw new Error(`the component ${name} cannot be nullable by itself`);
  schemas[name] = converted;
  return { $ref: `#/components/schemas/${name}` };
}

/** The form of a value, stated once per alternative: generated client types do not combine both. */
function withConditions(schema: Json, conditions: unknown): Json {
  const { anyOf, ...others } = (conditions ?? {}) as { readonly anyOf?: readonly Json[] };
  if (anyOf === undefined) return { ...schema, ...others };
  const { description, ...form } = schema;
  return {
    ...(description === undefined ? {} : { description }),
    ...others,
    anyOf: anyOf.map((alternative) => {
      const properties = (form.properties ?? {}) as Readonly<Record<string, Json>>;
      const changed = Object.entries((alternative.properties ?? {}) as Readonly<Record<string, Json>>).map(
        ([name, condition]) => [name, { ...properties[name], ...condition }],
      );
      const merged = { ...properties, ...Object.fromEntries(changed) };
      return { ...form, ...alternative, ...(form.properties === undefined ? {} : { properties: merged }) };
    }),
  };
}

/** The pattern of a trimmed string that must not be empty, without lookaheads: RE2 does not have them. */
function nonBlank(schema: Json): { readonly pattern?: string } {
  if (schema[trimKeyword] !== true || schema.minLength !== 1) return {};
  if (schema.pattern === undefined) return { pattern: "\\S" };
  const excluded = /^\^\[\^(.+)\]\*\$$/.exec(String(schema.pattern))?.[1];
  return excluded === undefined ? {} : { pattern: `^[^${excluded}]*[^\\s${excluded}][^${excluded}]*$` };
}

/** Gatehouse's own keywords, and `propertyNames`, which OpenAPI 3.0 does not have. */
const omittedKeywords = new Set<string>([
  componentKeyword,
  documentedKeyword,
  referenceKeyword,
  trimKeyword,
  validatedLaterKeyword,
  "propertyNames",
]);

function describeOperation(operation: Operation, schemas: Json): Json {
  return {
    operationId: operation.id,
    tags: [operation.tag],
    summary: operation.summary,
    description: [operation.description, accessText(operation)].filter(Boolean).join("\n\n"),
    ...(operation.access === "operator" ? { security: [{ operatorKey: [] }, { bearerOperatorKey: [] }] } : {}),
    ...(operation.access === "person" ? { security: [{ session: [] }, { accessToken: [] }] } : {}),
    ...(isPermission(operation.access) ? { "x-permission": operation.access } : {}),
    parameters: parametersOf(operation),
    ...(operation.body === undefined
      ? {}
      : {
          requestBody: {
            required: operation.bodyOptional !== true,
            content: { "application/json": { schema: schemaOf(operation.body, schemas) } },
          },
        }),
    responses: responsesOf(operation, schemas),
  };
}

function isPermission(access: Operation["access"]): boolean {
  return access !== "operator" && access !== "any-key" && access !== "person";
}

function accessText(operation: Operation): string {
  if (operation.access === "operator") return "Requires the operator key.";
  if (operation.access === "person") return "Requires the session of a person, and no permission.";
  return operation.access === "any-key"
    ? "Requires a key of the tenant. Each change also requires the permission of its own operation."
    : `Requires a key with the permission \`${operation.access}\`.`;
}

function parametersOf(operation: Operation): unknown[] {
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
          : [...flags, ...namedParameters((operation.success.kind === "record" && operation.success.query) || {})];
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
    "The id of the last record of the page before, with the same sort and filters. Unlike an offset, it costs the same on every page, and no record is skipped or repeated when others are created or deleted. A record that was deleted gets 400.",
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

const headersOfStatus: Readonly<Record<number, readonly (keyof typeof headers)[]>> = {
  401: ["WWW-Authenticate"],
  429: ["Retry-After", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"],
  503: ["Retry-After"],
};

function responsesOf(operation: Operation, schemas: Json): Json {
  const responses: Json = { [operation.success.status]: successOf(operation, schemas) };
  if (isConditional(operation)) {
    const names = headersNamed("X-Request-Id", "Cache-Control", "Vary", "ETag");
    responses[304] = { description: "The list has not changed since `If-None-Match`.", headers: names };
  }
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of errorsOf(operation)) {
    const { status } = errorDefinitions[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  const problem = { "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } } };
  for (const [status, codes] of [...byStatus].sort(([a], [b]) => a - b)) {
    const lines = codes.map((code) => `\`${code}\`: ${errorDefinitions[code].title}.`);
    const more = headersOfStatus[status] ?? [];
    responses[status] = {
      description: lines.join("\n\n"),
      headers: headersNamed("X-Request-Id", "Cache-Control", "Vary", ...more),
      content: problem,
    };
  }
  return responses;
}

function successOf(operation: Operation, schemas: Json): Json {
  const { success } = operation;
  const names: (keyof typeof headers)[] = ["X-Request-Id", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"];
  names.push("Cache-Control", "Vary");
  const changes = success.kind === "empty" && operation.method !== "DELETE" && operation.parameters !== undefined;
  const isRead = operation.method === "GET" && success.kind !== "stream";
  if (isRead || success.kind === "record" || success.kind === "records" || changes) names.push("ETag");
  const located = success.kind === "record" && success.located === true;
  if (located || (success.status === 201 && operation.parameters === undefined)) names.push("Location");
  if (success.kind === "array") names.push("Link", "X-Total-Count");
  if (operation.changesAccess === true) names.push("Gatehouse-Event");
  if (changesEnforcement(operation)) names.push("Gatehouse-Enforced", "Gatehouse-Not-Enforced");
  if (operation.method === "POST") names.push("Idempotent-Replayed");
  const shown = headersNamed(...names);
  if (success.kind === "empty") return { description: "Done, without a body.", headers: shown };
  if (success.kind === "stream") {
    const content = success.mediaTypes.map((type) => [type, { schema: { type: "string" } }]);
    return { description: success.description, headers: shown, content: Object.fromEntries(content) };
  }
  const schema: TSchema =
    success.kind === "page"
      ? pageOf(success.item)
      : success.kind === "array"
        ? { type: "array", items: success.item }
        : success.body;
  const description = {
    record: "The record.",
    records: "The record, with ETag and Location; for an array, an array without these headers.",
    page: "A page of the list.",
    array: "The complete list.",
    report: "The result.",
  };
  return {
    description: description[success.kind],
    headers: shown,
    content: { "application/json": { schema: schemaOf(schema, schemas) } },
  };
}
