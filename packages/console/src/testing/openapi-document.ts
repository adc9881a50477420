/** The OpenAPI document of the API, indexed by operation, with the validation of requests and responses. */
import { operations as declarations } from "@gatehouse/contract/operations/all";
import { openApiDocument } from "@gatehouse/server/http/openapi";
import { Ajv, type ValidateFunction } from "ajv";
import addFormats from "ajv-formats";

export interface JsonSchema {
  readonly $ref?: string;
  readonly type?: string;
  readonly format?: string;
  readonly pattern?: string;
  readonly enum?: readonly unknown[];
  readonly nullable?: boolean;
  readonly minimum?: number;
  readonly minItems?: number;
  readonly minLength?: number;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly items?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly allOf?: readonly JsonSchema[];
}

interface Content {
  readonly [mediaType: string]: { readonly schema: JsonSchema };
}

interface Parameter {
  readonly $ref?: string;
  readonly name: string;
  readonly in: "path" | "query" | "header";
}

interface DocumentedOperation {
  readonly operationId: string;
  readonly parameters: readonly Parameter[];
  readonly requestBody?: { readonly required: boolean; readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly content?: Content; readonly headers?: object }>>;
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentedOperation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> };
}

export interface ApiOperation {
  readonly id: string;
  /** The HTTP method in lower case. */
  readonly method: string;
  /** With parameters in braces. */
  readonly path: string;
  readonly pattern: RegExp;
  readonly queryNames: readonly string[];
  readonly requestBody: DocumentedOperation["requestBody"];
  readonly success: {
    readonly status: number;
    /** Undefined if the response has no JSON body. */
    readonly schema: JsonSchema | undefined;
    readonly hasEtag: boolean;
  };
}

/** The document is untyped JSON. The interfaces above declare the parts that tests use. */
const document = openApiDocument(declarations) as unknown as Document;

export const apiOperations: readonly ApiOperation[] = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => describeOperation(path, method, operation)),
);

function describeOperation(path: string, method: string, operation: DocumentedOperation): ApiOperation {
  const [status = "204", response] =
    Object.entries(operation.responses).find(([candidate]) => candidate.startsWith("2")) ?? [];
  return {
    id: operation.operationId,
    method,
    path,
    pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, "([^/]+)")}$`),
    queryNames: operation.parameters.flatMap(({ in: location, name }) => (location === "query" ? [name] : [])),
    requestBody: operation.requestBody,
    success: {
      status: Number(status),
      schema: response?.content?.["application/json"]?.schema,
      hasEtag: "ETag" in (response?.headers ?? {}),
    },
  };
}

export function findOperation(method: string, pathname: string): ApiOperation | undefined {
  const matching = apiOperations.filter(
    (operation) => operation.method === method.toLowerCase() && operation.pattern.test(pathname),
  );
  // A path without parameters, such as /tenants/policies/preview, wins over /tenants/policies/{id}.
  return matching.find(({ path }) => path === pathname) ?? matching[0];
}

/** @param reference such as `#/components/schemas/Group` */
export function resolveReference(reference: string): JsonSchema {
  const name = reference.replace("#/components/schemas/", "");
  const schema = document.components.schemas[name];
  if (schema === undefined) throw new Error(`The OpenAPI document has no schema ${name}.`);
  return schema;
}

const ajv = new Ajv({ strict: false, allErrors: true });
addFormats.default(ajv);
for (const [name, schema] of Object.entries(document.components.schemas)) {
  ajv.addSchema(schema, `#/components/schemas/${name}`);
}
const validators = new WeakMap<JsonSchema, ValidateFunction>();

/** @returns one message for each violation, such as `/name must be string` */
export function schemaViolations(schema: JsonSchema, value: unknown): readonly string[] {
  const validate = validators.get(schema) ?? ajv.compile(schema);
  validators.set(schema, validate);
  if (validate(value)) return [];
  return (validate.errors ?? []).map(({ instancePath, message, params }) =>
    `${instancePath} ${message} ${JSON.stringify(params)}`.trim(),
  );
}
