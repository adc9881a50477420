import Type from "typebox";
import { operation } from "../operation.ts";
import { permissions, roleTypes } from "../permissions.ts";
import { ApiKey, NewApiKey } from "../records/api-key.ts";
import { closedObject, GraceSeconds, Name, oneOf, Timestamp } from "../schema.ts";

const tag = "API keys";

export const listApiKeys = operation({
  id: "listApiKeys",
  method: "GET",
  path: "/tenants/api-keys",
  tag,
  summary: "List API keys",
  access: "api-keys:read",
  success: { status: 200, kind: "array", item: ApiKey },
});

export const createApiKey = operation({
  id: "createApiKey",
  method: "POST",
  path: "/tenants/api-keys",
  tag,
  summary: "Create an API key",
  description:
    "Requires either `permissions` or a `role` whose permissions the key gets. The new key cannot grant more than the calling key holds.",
  access: "api-keys:write",
  dangerous: "the key outlives the session",
  body: closedObject({
    name: Name,
    permissions: Type.Optional(
      Type.Array(oneOf(permissions), { minItems: 1, maxItems: permissions.length, uniqueItems: true }),
    ),
    role: Type.Optional(oneOf(roleTypes)),
    expiresAt: Type.Optional(Timestamp),
    sourceIps: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 64 }), {
        maxItems: 100,
        description: "Addresses and CIDRs that the key can be used from; empty for any address.",
      }),
    ),
  }),
  refusedInSets: "its response shows a secret once",
  success: { status: 201, kind: "record", body: NewApiKey },
  errors: ["invalid_combination", "invalid_address", "grants_exceed_caller"],
});

export const readApiKey = operation({
  id: "readApiKey",
  method: "GET",
  path: "/tenants/api-keys/{id}",
  tag,
  summary: "Read an API key",
  access: "api-keys:read",
  parameters: { id: "uuid" },
  success: { status: 200, kind: "record", body: ApiKey },
});

export const deleteApiKey = operation({
  id: "deleteApiKey",
  method: "DELETE",
  path: "/tenants/api-keys/{id}",
  tag,
  summary: "Revoke an API key",
  description: "The key stops working within a second on every replica.",
  access: "api-keys:write",
  parameters: { id: "uuid" },
  success: { status: 204, kind: "empty" },
});

export const listApiKeysOfUser = operation({
  id: "listApiKeysOfUser",
  method: "GET",
  path: "/tenants/users/{id}/api-keys",
  tag,
  summary: "List the API keys that a user created",
  description: "The keys continue to work when the user is deactivated or deleted.",
  access: "api-keys:read",
  parameters: { id: "uuid" },
  success: { status: 200, kind: "array", item: ApiKey },
});

export const deleteApiKeysOfUser = operation({
  id: "deleteApiKeysOfUser",
  method: "DELETE",
  path: "/tenants/users/{id}/api-keys",
  tag,
  summary: "Revoke the API keys that a user created",
  description: "The keys stop working within a second on every replica. `If-Match` takes the user's ETag.",
  access: "api-keys:write",
  parameters: { id: "uuid" },
  success: { status: 204, kind: "empty" },
});

export const rotateApiKey = operation({
  id: "rotateApiKey",
  method: "POST",
  path: "/tenants/api-keys/{id}/rotate",
  tag,
  summary: "Rotate an API key",
  description:
    "Creates a new key with the same permissions. The previous key stays valid for `graceSeconds`, so that its users can switch over.",
  access: "api-keys:write",
  dangerous: "the new key outlives the session",
  parameters: { id: "uuid" },
  bodyOptional: true,
  body: closedObject({
    graceSeconds: Type.Optional(GraceSeconds),
  }),
  refusedInSets: "its response shows a secret once",
  success: { status: 200, kind: "record", body: NewApiKey },
  errors: ["api_key_expired", "api_key_replaced", "grants_exceed_caller"],
});
