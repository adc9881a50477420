/** Generates the OpenAPI 3.0.3 document from the declarations of the operations. */
import { type ErrorCode, errorDefinitions } from "@gatehouse/contract/errors";
import { pageOf } from "@gatehouse/contract/list";
import { changesEnforcement, errorsOf, isConditional, type Operation } from "@gatehouse/contract/operation";
import { Problem } from "@gatehouse/contract/problem";
import type { TSchema } from "typebox";
import { type HeaderName, headerParameters, headers, headersNamed } from "./openapi-headers.ts";
import { parametersOf } from "./openapi-parameters.ts";
import { schemaOf } from "./openapi-schemas.ts";

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

function describeOperation(operation: Operation, schemas: Json): Json {
  return {
    operationId: operation.id,
    tags: [operation.tag],
    summary: operation.summary,
    description: [operation.description, accessText(operation), recencyText(operation)].filter(Boolean).join("\n\n"),
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

function recencyText({ dangerous, dangerousWith, dangerousIf, access }: Operation): string | undefined {
  if (dangerous === undefined) return undefined;
  const rule = `must have authenticated in the last 15 minutes, because ${dangerous}.`;
  const fields = dangerousWith?.map((field) => `\`${field}\``);
  const condition = fields === undefined ? dangerousIf && `If ${dangerousIf}` : `With ${alternatives(fields)}`;
  const text = condition === undefined ? `People ${rule}` : `${condition}, people ${rule}`;
  return access === "person" ? text : `${text} Requests with an API key are exempt.`;
}

/** A list as a phrase: "a, b or c". */
function alternatives(items: readonly string[]): string {
  return items.join(", ").replace(/, (?=[^,]*$)/, " or ");
}

const headersOfStatus: Readonly<Record<number, readonly HeaderName[]>> = {
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
  const names: HeaderName[] = ["X-Request-Id", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"];
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
