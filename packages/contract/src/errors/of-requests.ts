import type { ErrorDefinition } from "./definition.ts";

/** What can be wrong with a request whatever it is about: its form, who sends it, how often; and with the server. */
export const errorsOfRequests = {
  invalid_json: {
    status: 400,
    title: "The body is not valid JSON",
    explanation: "The request's body was announced as JSON, but could not be read as such, or it was missing.",
    remedy: "Send one complete JSON value, encoded in UTF-8.",
  },
  invalid_body: {
    status: 400,
    title: "The body does not have the declared form",
    explanation:
      "A field is missing, is not known to this operation, or has a value of the wrong type, form or length. `errors` lists each one with a JSON Pointer to it.",
    remedy:
      "Correct the fields listed in `errors`. Fields that the operation does not know are refused, never ignored.",
  },
  invalid_parameter: {
    status: 400,
    title: "A parameter does not have the declared form",
    explanation: "A path parameter, query parameter or header has a value that the operation cannot read.",
    remedy: "Correct the parameter that `detail` names.",
  },
  missing_api_key: {
    status: 401,
    title: "No API key was given",
    explanation: "Every operation needs a key in the request header `apikey`.",
    remedy: "Send the header `apikey` with a key of the tenant. Operations under /operator take the operator key.",
  },
  invalid_api_key: {
    status: 401,
    title: "The API key is not valid",
    explanation: "The key is unknown, was revoked or rotated away, or has expired.",
    remedy: "Check the key for truncation. If it is gone, have someone with `api-keys:write` create another.",
  },
  session_ended: {
    status: 401,
    title: "The session has ended",
    explanation:
      "The console's session is unknown, was signed out, was not used for an hour, is older than twelve hours, or the API key that it stands for was revoked or has expired.",
    remedy: "Sign in again. Programs send an API key in the header `apikey` instead of a session.",
  },
  foreign_origin: {
    status: 403,
    title: "The request comes from another site",
    explanation:
      "A request with the console's session cookie must come from a page of this Gatehouse. By its `Sec-Fetch-Site` or `Origin` header this one does not, or a change came with neither header.",
    remedy:
      "Programs send an API key in the header `apikey` instead of a cookie. Behind a proxy, have it pass the `Host` header on unchanged.",
  },
  invalid_gateway_token: {
    status: 401,
    title: "The gateway's token is not valid",
    explanation:
      "The link of gateways needs a gateway's token as `Authorization: Bearer`, and there was none, or one that is unknown, or was rotated away and whose grace is over.",
    remedy: "Give the agent the gateway's present token. Keys that hold `gateways:token` are shown it.",
  },
  invalid_device_token: {
    status: 401,
    title: "The device's token is not valid",
    explanation:
      "The link of devices needs a device's token as `Authorization: Bearer`, and there was none, or one that is unknown, or was replaced by a newer one.",
    remedy: "Give the device a new token, and its agent that token. It is shown once, so one that is lost is replaced.",
  },
  permission_denied: {
    status: 403,
    title: "The API key lacks the permission for this operation",
    explanation: "The key is valid, but does not hold the permission that the operation needs; `detail` names it.",
    remedy: "Use a key that holds the permission.",
  },
  source_address_not_allowed: {
    status: 403,
    title: "The API key may not be used from this address",
    explanation: "The key is bound to source addresses, and the request came from another one.",
    remedy:
      "Call from one of the key's `sourceIps`. Behind a proxy, name the proxy in GATEHOUSE_TRUSTED_PROXIES so that the caller's own address is seen.",
  },
  grants_exceed_caller: {
    status: 403,
    title: "A caller cannot grant more than it holds",
    explanation:
      "A new key would hold permissions that the calling key does not, live longer, or be usable from other addresses; or a role or a group would give somebody permissions that the calling key does not hold. `detail` names what exceeds.",
    remedy:
      "Grant no more than the calling key's permissions, and to keys no more than its expiry and source addresses, or use a key that has them.",
  },
  not_found: {
    status: 404,
    title: "No such record",
    explanation:
      "The tenant has no record with this id. A record of another tenant is answered in the same way, so that ids tell nothing.",
    remedy: "Check the id, and that the key belongs to the tenant you mean.",
  },
  before_history: {
    status: 404,
    title: "The history does not reach back that far",
    explanation:
      "What could be reached at a moment is worked out from recorded history. It begins with the tenant, with the upgrade to the version that records it, or where the retention of the audit record ends; `detail` names the moment.",
    remedy: "Ask for a later moment.",
  },
  upgrade_required: {
    status: 426,
    title: "This address takes WebSockets only",
    explanation: "Agents of gateways or devices open a WebSocket here, with the subprotocol that `detail` names.",
    remedy: "Open a WebSocket. Proxies in between must pass on `Upgrade` and `Connection`.",
  },
  too_many_links: {
    status: 503,
    title: "Too many agents connect at once",
    explanation: "This replica has as many links as it may, or too many agents are connecting at the moment.",
    remedy: "Connect again after `Retry-After`, or to another replica. Agents do both by themselves.",
  },
  no_such_operation: {
    status: 404,
    title: "No such operation",
    explanation: "No operation has this path.",
    remedy: "See /docs or /openapi.json for the paths there are.",
  },
  method_not_allowed: {
    status: 405,
    title: "The path does not take this method",
    explanation: "The path exists, but not with this HTTP method; the `Allow` header lists those it takes.",
    remedy: "Use one of the methods in `Allow`.",
  },
  request_timeout: {
    status: 408,
    title: "The request did not arrive in time",
    explanation: "The request's headers or body were not complete when the time for them ran out.",
    remedy: "Send the request again, whole.",
  },
  precondition_failed: {
    status: 412,
    title: "The record has changed",
    explanation: "`If-Match` names a version of the record that is no longer the current one.",
    remedy: "Read the record again, decide anew, and send its new ETag.",
  },
  payload_too_large: {
    status: 413,
    title: "The body is too large",
    explanation: "A request's body may have 1 MiB at most, or as much as the operation's description says.",
    remedy: "Split the request into smaller ones.",
  },
  unsupported_media_type: {
    status: 415,
    title: "The body is not JSON",
    explanation: "Bodies are JSON, and say so in `Content-Type: application/json`.",
    remedy: "Send JSON with the header `Content-Type: application/json`.",
  },
  rate_limited: {
    status: 429,
    title: "Too many requests",
    explanation:
      "The key has made as many requests in this minute as it may, 6,000 unless GATEHOUSE_RATE_LIMIT_PER_MINUTE says otherwise. Refused ones count too.",
    remedy:
      "Wait for as long as `Retry-After` says, in seconds. `RateLimit-Remaining` of earlier answers tells how much was left.",
  },
  too_many_failed_authentications: {
    status: 429,
    title: "Too many requests with a wrong key from this address",
    explanation:
      "From the caller's address (for IPv6, its /64) came too many requests without a valid key, 300 in five minutes unless GATEHOUSE_AUTH_FAILURE_LIMIT says otherwise. Until the five minutes are over, only keys that were used from there within the last hour are accepted.",
    remedy:
      "Find the program that uses a wrong key and stop it, then wait for as long as `Retry-After` says, in seconds. Behind a proxy, name the proxy in GATEHOUSE_TRUSTED_PROXIES so that callers are told apart.",
  },
  too_many_streams: {
    status: 429,
    title: "Too many live streams",
    explanation: "The key, or the tenant, follows the audit record on as many connections as it may.",
    remedy: "Close a stream that is not needed, or share one between its readers.",
  },
  header_too_large: {
    status: 431,
    title: "The request's headers are too large",
    explanation: "All headers together may have 16 KiB.",
    remedy: "Send fewer or shorter headers.",
  },
  internal_error: {
    status: 500,
    title: "Something went wrong in Gatehouse",
    explanation: "An error that should not happen. Nothing was changed. The cause is in the server's log.",
    remedy: "Report it together with `requestId`.",
  },
  no_stream_free: {
    status: 503,
    title: "The server follows as many streams as it can",
    explanation: "All tenants together hold as many live streams open as this server takes.",
    remedy: "Try again after as many seconds as `Retry-After` says; another replica may have room.",
  },
  database_unavailable: {
    status: 503,
    title: "The database is not reachable",
    explanation: "Gatehouse cannot reach its database, or the database is too busy to answer in time.",
    remedy: "Try again after as many seconds as `Retry-After` says. A write may be repeated with its Idempotency-Key.",
  },
} as const satisfies Record<string, ErrorDefinition>;
