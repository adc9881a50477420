/** The headers of requests and responses in the OpenAPI document. */

/** Headers of responses. */
export const headers = {
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

export type HeaderName = keyof typeof headers;

/** References to headers of responses, by name. */
export function headersNamed(...names: HeaderName[]): Record<string, unknown> {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

/** Headers of requests. */
export const headerParameters = {
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
