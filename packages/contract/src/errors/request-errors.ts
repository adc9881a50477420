import type { ErrorDefinition } from "./definition.ts";

/** Errors that do not depend on any record: malformed requests, authentication, rate limits and server failures. */
export const requestErrors = {
  invalid_json: {
    status: 400,
    title: "The body is not valid JSON",
    explanation: "The request's `Content-Type` is JSON, but the body is missing or is not valid JSON.",
    remedy: "Send one complete JSON value, encoded in UTF-8.",
  },
  invalid_body: {
    status: 400,
    title: "The body does not match the schema",
    explanation:
      "A required field is missing, a field is unknown to the operation, or a value has the wrong type, format or length. `errors` lists each field with a JSON Pointer.",
    remedy: "Correct the fields listed in `errors`. Unknown fields are rejected, never ignored.",
  },
  invalid_parameter: {
    status: 400,
    title: "A parameter is not valid",
    explanation: "A path parameter, query parameter or header has a value that the operation cannot parse.",
    remedy: "Correct the parameter that `detail` names.",
  },
  missing_api_key: {
    status: 401,
    title: "The API key is missing",
    explanation: "The request has no credential: no API key, access token or console session.",
    remedy:
      "Send an API key of the tenant in the header `apikey`. Operations under /operator require the operator key.",
  },
  invalid_api_key: {
    status: 401,
    title: "The API key is not valid",
    explanation: "The key is unknown, has expired, or was revoked or replaced by rotation.",
    remedy:
      "Check that the key is complete. If it no longer exists, ask someone with the permission `api-keys:write` to create another.",
  },
  session_ended: {
    status: 401,
    title: "The session has ended",
    explanation:
      "The console session is unknown, was signed out, or exceeded its idle time or lifetime. By default, these are 1 hour and 12 hours. A session also ends when its API key expires or is revoked.",
    remedy: "Sign in again. Programs send an API key in the header `apikey` instead of a session cookie.",
  },
  sign_in_failed: {
    status: 401,
    title: "The sign-in failed",
    explanation:
      "The passkey, link or code was not accepted, or its user cannot sign in. For security, the exact reason is not shown.",
    remedy:
      "Try again, or ask an administrator for a new enrolment link. Administrators find the reason in the sign-in log. An unknown, removed or revoked passkey, link or code identifies no tenant. Such attempts are only in the server's log.",
  },
  enrolment_link_outgrown: {
    status: 401,
    title: "The link's creator lacks permissions that the link's user holds",
    explanation:
      "The user holds permissions that the creator of the link currently does not hold. The link is refused because its creator could use it to gain them.",
    remedy: "Ask an administrator who holds the user's permissions for a new enrolment link.",
  },
  recent_authentication_required: {
    status: 401,
    title: "The operation requires a recent authentication",
    explanation:
      "A person must have authenticated within the last 15 minutes to call this operation. The header `WWW-Authenticate` has the challenge of RFC 9470. Requests with an API key do not require a recent authentication.",
    remedy: "Confirm your identity with a passkey or at the identity provider, and repeat the request.",
  },
  person_required: {
    status: 403,
    title: "The request requires a person's session",
    explanation:
      "Passkeys, recovery codes and everything below `/tenants/my` belong to a person. API keys, and sessions created with an API key, do not represent a person.",
    remedy: "Sign in as the person.",
  },
  passkey_not_accepted: {
    status: 422,
    title: "The passkey was not accepted",
    explanation:
      "The browser's response does not match the challenge, its attestation was not requested or is too large, or the passkey is already registered.",
    remedy: "Register the passkey again, on the page that the public address of Gatehouse names.",
  },
  foreign_origin: {
    status: 403,
    title: "The request comes from another site",
    explanation:
      "A request with the console's session cookie must come from a page of this Gatehouse server. The `Sec-Fetch-Site` or `Origin` header names another site, or a request that changes data has neither header.",
    remedy:
      "Programs send an API key in the header `apikey` instead of a session cookie. If Gatehouse is behind a proxy, configure the proxy to forward the `Host` header unchanged.",
  },
  invalid_gateway_token: {
    status: 401,
    title: "The gateway token is not valid",
    explanation:
      "The gateway link requires a gateway's token in `Authorization: Bearer`. The token is missing or unknown, or it was rotated and its grace period is over.",
    remedy:
      "Configure the agent with the gateway's current token. API keys with the permission `gateways:token` can read it.",
  },
  invalid_device_token: {
    status: 401,
    title: "The device token is not valid",
    explanation:
      "The device link requires a device's token in `Authorization: Bearer`. The token is missing or unknown, or a newer token replaced it.",
    remedy:
      "Create a new token for the device and configure its agent with it. A token is shown only once; a lost token must be replaced.",
  },
  permission_denied: {
    status: 403,
    title: "A permission is missing",
    explanation:
      "The caller is known, but the API key, or the roles of the person, do not include the permission that the operation requires. `detail` names it.",
    remedy: "Use a key that holds the permission, or ask an administrator for a role that includes it.",
  },
  source_address_not_allowed: {
    status: 403,
    title: "The API key cannot be used from this address",
    explanation: "The key is restricted to source addresses, and the request came from another address.",
    remedy:
      "Send the request from an address in the key's `sourceIps`. If Gatehouse is behind a proxy, add the proxy to GATEHOUSE_TRUSTED_PROXIES so that Gatehouse sees the client's address.",
  },
  grants_exceed_caller: {
    status: 403,
    title: "Callers cannot grant more than they hold",
    explanation:
      "A caller cannot create a key with more permissions, a later expiry or more source addresses than its own. It cannot assign, or remove from a user, a role or group with permissions that it does not hold. It cannot add a role with such permissions to a group or remove it. It cannot delete a group that has such a role, change its identity provider mapping, or make it the SAML default. This also applies to empty groups. It cannot deactivate, reactivate or delete a user who holds more permissions, end the user's sessions, or change how the user signs in. `detail` names the missing permissions or limits.",
    remedy:
      "Grant and remove only permissions that the caller holds, within the key's expiry and source addresses. Otherwise use a key or a role that holds more.",
  },
  not_found: {
    status: 404,
    title: "The record does not exist",
    explanation:
      "The tenant has no record with this id. Records of other tenants get the same response, so that ids reveal nothing.",
    remedy: "Check the id, and check that the API key belongs to the intended tenant.",
  },
  before_history: {
    status: 404,
    title: "The history does not reach that far back",
    explanation:
      "Past access is computed from recorded history. The history begins with the tenant, with the upgrade to a version that records history, or at the end of the audit retention. `detail` names that time.",
    remedy: "Choose a later time.",
  },
  upgrade_required: {
    status: 426,
    title: "This path accepts only WebSocket connections",
    explanation: "Gateway and device agents open a WebSocket here, with the subprotocol that `detail` names.",
    remedy: "Open a WebSocket. Proxies on the path must forward the headers `Upgrade` and `Connection`.",
  },
  too_many_links: {
    status: 503,
    title: "Too many agents are connecting",
    explanation: "This replica has reached its limit of agent links, or too many agents are connecting at once.",
    remedy: "Connect again after `Retry-After` seconds, or connect to another replica. Agents do both automatically.",
  },
  no_such_operation: {
    status: 404,
    title: "The operation does not exist",
    explanation: "No operation has this path.",
    remedy: "See /docs or /openapi.json for the available paths.",
  },
  method_not_allowed: {
    status: 405,
    title: "The method is not allowed",
    explanation: "The path exists, but does not support this HTTP method. The `Allow` header lists the supported ones.",
    remedy: "Use one of the methods in `Allow`.",
  },
  request_timeout: {
    status: 408,
    title: "The request timed out",
    explanation: "The request's headers or body did not arrive completely within the time limit.",
    remedy: "Send the complete request again.",
  },
  precondition_failed: {
    status: 412,
    title: "The record has changed",
    explanation: "`If-Match` names a version of the record that is no longer current.",
    remedy: "Read the record again, check whether the change still applies, and send the new ETag.",
  },
  payload_too_large: {
    status: 413,
    title: "The body is too large",
    explanation: "A body can have at most 1 MiB, unless the operation's description states another limit.",
    remedy: "Split the request into smaller ones.",
  },
  unsupported_media_type: {
    status: 415,
    title: "The media type is not supported",
    explanation: "Bodies must be JSON, with the header `Content-Type: application/json`.",
    remedy: "Send JSON with the header `Content-Type: application/json`.",
  },
  rate_limited: {
    status: 429,
    title: "Too many requests",
    explanation:
      "The API key has used up its requests for this minute: 6,000, unless GATEHOUSE_RATE_LIMIT_PER_MINUTE sets another limit. Rejected requests count too. The code is also returned for other limits. While other tenants are active, a server performs one export, plan, apply or preview of a tenant at a time. If 20 of them are waiting, it refuses further ones. At most 16 requests of a tenant, and 8 from one address, can wait for DNS to verify domains. On one server, a tenant's request bodies can take up 128 MiB in total, and so can the responses that its clients have not read.",
    remedy:
      "Wait for `Retry-After` seconds. The header `RateLimit-Remaining` of each response shows how many requests remain.",
  },
  evaluation_rate_exceeded: {
    status: 429,
    title: "The tenant exceeds its evaluation rate",
    explanation:
      "Decisions, searches, previews and checks of access tests cost units of evaluation, about 50 million for a second of processor time. A tenant can use 25 million a second, and save up 250 million. The tenant has used more.",
    remedy: "Wait for `Retry-After` seconds. Ask about fewer records, or simplify the admission rules.",
  },
  too_many_failed_authentications: {
    status: 429,
    title: "Too many failed authentications from this address",
    explanation:
      "The client's address (for IPv6, its /64) sent too many requests without a valid key: 300 in five minutes, unless GATEHOUSE_AUTH_FAILURE_LIMIT sets another limit. Until the five minutes are over, only keys, passkeys and sessions that were used from this address within the last hour are accepted.",
    remedy:
      "Find and stop the program that uses an invalid key, then wait for `Retry-After` seconds. If Gatehouse is behind a proxy, add the proxy to GATEHOUSE_TRUSTED_PROXIES so that clients are counted separately.",
  },
  reply_too_large: {
    status: 429,
    title: "The reply is too large to be stored",
    explanation:
      "The request has an Idempotency-Key, but its reply exceeds 64 KiB after compression. Nothing was changed.",
    remedy: "Split the request into smaller ones, or send it without an Idempotency-Key.",
  },
  stored_replies_full: {
    status: 429,
    title: "The tenant's stored replies are full",
    explanation:
      "Replies to requests with an Idempotency-Key are stored for 24 hours. The tenant's stored replies have reached 64 MiB. Nothing was changed.",
    remedy:
      "Send requests without an Idempotency-Key if they can be repeated, or try again after `Retry-After` seconds, when older replies have expired.",
  },
  too_many_streams: {
    status: 429,
    title: "Too many live streams",
    explanation: "The API key or the tenant has reached its limit of live streams of the audit record.",
    remedy: "Close a stream that is not needed, or share one stream between its readers.",
  },
  audit_record_contradicted: {
    status: 409,
    title: "The audit record contradicts its signed head",
    explanation:
      "The record in the database is not the one that Gatehouse signed: it was changed, or a backup was restored. Gatehouse signs neither the record nor an export of it.",
    remedy:
      "Run `gatehouse audit verify`. After restoring a backup, run `gatehouse audit accept-head --reason …` on the server.",
  },
  header_too_large: {
    status: 431,
    title: "The request headers are too large",
    explanation: "All headers together can have at most 16 KiB.",
    remedy: "Send fewer or shorter headers.",
  },
  internal_error: {
    status: 500,
    title: "Internal error",
    explanation: "An unexpected error occurred, and nothing was changed. The server's log has the cause.",
    remedy: "Report the error with its `requestId`.",
  },
  no_stream_free: {
    status: 503,
    title: "The server has reached its limit of live streams",
    explanation: "All tenants together have as many live streams open as this server supports.",
    remedy: "Try again after `Retry-After` seconds. Another replica may have capacity.",
  },
  secret_unreadable: {
    status: 503,
    title: "A stored secret cannot be decrypted",
    explanation:
      "The server's master keys do not decrypt a secret that the request needs. It was encrypted with another master key, or its record was changed.",
    remedy:
      "Ask the operator to run `gatehouse doctor`, which counts these secrets, and to configure the previous master key as the second one.",
  },
  database_unavailable: {
    status: 503,
    title: "The database is unavailable",
    explanation:
      "Gatehouse cannot reach its database, or the database is too busy to respond in time. A write may still be stored, unless `detail` denies it.",
    remedy: "Try again after `Retry-After` seconds. Repeat a write with the same Idempotency-Key.",
  },
} as const satisfies Record<string, ErrorDefinition>;
