/** The fields of requests and responses, for rules that follow from the declarations of operations. */
import type { TSchema } from "typebox";
import type { Operation } from "./operation.ts";
import { Gateway } from "./records/gateway.ts";

/** A field of a request or a response, by its path. */
export interface Field {
  readonly path: string;
  readonly name: string;
  readonly schema: TSchema;
}

interface Parts {
  readonly properties?: Readonly<Record<string, TSchema>>;
  readonly items?: TSchema;
  readonly anyOf?: readonly TSchema[];
  readonly oneOf?: readonly TSchema[];
  readonly allOf?: readonly TSchema[];
  readonly additionalProperties?: TSchema | boolean;
}

/** All fields of a schema. Items of arrays have the path of the array. */
export function fieldsOf(schema: TSchema, path = ""): readonly Field[] {
  const { properties = {}, items, anyOf = [], oneOf = [], allOf = [], additionalProperties } = schema as Parts;
  const parts = [...anyOf, ...oneOf, ...allOf, ...(items === undefined ? [] : [items])];
  if (typeof additionalProperties === "object") parts.push(additionalProperties);
  return [
    ...Object.entries(properties).flatMap(([name, inner]) => [
      { path: `${path}/${name}`, name, schema: inner },
      ...fieldsOf(inner, `${path}/${name}`),
    ]),
    ...parts.flatMap((part) => fieldsOf(part, path)),
  ];
}

/** The schema of a successful response, or of one item of a list. */
export function responseOf({ success }: Operation): TSchema | undefined {
  if (success.kind === "page" || success.kind === "array") return success.item;
  return "body" in success ? success.body : undefined;
}

/** Whether the field is the token of a gateway, which responses show or replace with `<redacted>`. */
export function isGatewayToken({ schema }: Field): boolean {
  return schema === Gateway.properties.token;
}

/** Whether responses of the operation contain gateways, and so the field of their tokens. */
export function containsGateways(operation: Operation): boolean {
  const response = responseOf(operation);
  return response !== undefined && fieldsOf(response).some(isGatewayToken);
}
