import { list } from "../list.ts";
import { operation } from "../operation.ts";
import { Passkey } from "../records/passkey.ts";
import { Session, SignIn, signInMethods } from "../records/session.ts";
import { closedObject, Name } from "../schema.ts";

const tag = "Sign-in";

export const listSessions = operation({
  id: "listSessions",
  method: "GET",
  path: "/tenants/sessions",
  tag,
  summary: "List the sessions of people",
  description: "People without the permission `users:read` see only their own sessions.",
  access: "any-key",
  success: {
    status: 200,
    kind: "page",
    item: Session,
    list: list({
      sort: ["id", "createdAt", "lastUsedAt"],
      filter: { id: { kind: "uuid" }, "user.id": { kind: "uuid" }, method: { kind: "enum", values: signInMethods } },
    }),
  },
});

export const endSession = operation({
  id: "endSession",
  method: "DELETE",
  path: "/tenants/sessions/{id}",
  tag,
  summary: "End a session",
  description:
    "The next request in the session gets 401, on every replica. The sessions of programs that were approved in it end too. People end their own sessions; other sessions require the permission `users:write`, and every permission that the user holds.",
  access: "any-key",
  refusedInSets: "it changes how a person signs in",
  parameters: { id: "uuid" },
  success: { status: 204, kind: "empty" },
  errors: ["grants_exceed_caller"],
});

export const endUserSessions = operation({
  id: "endUserSessions",
  method: "DELETE",
  path: "/tenants/users/{id}/sessions",
  tag,
  summary: "End all sessions of a user",
  description:
    "Also ends the sessions of the user's devices. People end their own sessions; those of others require the permission `users:write`, and every permission that the user holds. Passkeys and open enrolment links stay valid. If somebody else may have used the account, reset the passkeys: this also revokes the links.",
  access: "any-key",
  changesAccess: true,
  refusedInSets: "it changes how a person signs in",
  parameters: { id: "uuid" },
  success: { status: 204, kind: "empty" },
  errors: ["grants_exceed_caller"],
});

export const listPasskeys = operation({
  id: "listPasskeys",
  method: "GET",
  path: "/tenants/users/{id}/passkeys",
  tag,
  summary: "List a user's passkeys",
  description: "People list their own passkeys; those of others require the permission `users:read`.",
  access: "any-key",
  parameters: { id: "uuid" },
  success: { status: 200, kind: "array", item: Passkey },
});

export const renamePasskey = operation({
  id: "renamePasskey",
  method: "PATCH",
  path: "/tenants/users/{id}/passkeys/{passkeyId}",
  tag,
  summary: "Rename a passkey",
  description: "People rename their own passkeys; those of others require the permission `users:write`.",
  access: "any-key",
  refusedInSets: "it changes how a person signs in",
  parameters: { id: "uuid", passkeyId: "uuid" },
  body: closedObject({ name: Name }),
  success: { status: 200, kind: "record", body: Passkey },
});

export const deletePasskey = operation({
  id: "deletePasskey",
  method: "DELETE",
  path: "/tenants/users/{id}/passkeys/{passkeyId}",
  tag,
  summary: "Delete a passkey",
  description:
    "People delete their own passkeys, except for their last sign-in method. Passkeys of others require the permission `users:write`, and every permission that the user holds.",
  access: "any-key",
  dangerous: "it changes how a person signs in",
  refusedInSets: "it changes how a person signs in",
  parameters: { id: "uuid", passkeyId: "uuid" },
  success: { status: 204, kind: "empty" },
  errors: ["last_way_in", "grants_exceed_caller"],
});

export const resetPasskeys = operation({
  id: "resetPasskeys",
  method: "DELETE",
  path: "/tenants/users/{id}/passkeys",
  tag,
  summary: "Delete a user's passkeys, revoke open enrolment links and end the user's sessions",
  description:
    "Use this for lost passkeys, or if somebody else created passkeys or links. Create a new enrolment link afterwards. Requires every permission that the user holds. The passkeys and open links of the owner can be reset only if the owner has another sign-in method.",
  access: "users:write",
  dangerous: "it changes how a person signs in",
  changesAccess: true,
  refusedInSets: "it changes how a person signs in",
  parameters: { id: "uuid" },
  success: { status: 204, kind: "empty" },
  errors: ["last_way_in", "grants_exceed_caller"],
});

export const listSignIns = operation({
  id: "listSignIns",
  method: "GET",
  path: "/tenants/sign-ins",
  tag,
  summary: "List attempts to sign in",
  description: "Attempts are logged once their tenant is known, and deleted after 90 days.",
  access: "events:read",
  success: {
    status: 200,
    kind: "page",
    item: SignIn,
    list: list({
      sort: ["id", "createdAt"],
      filter: {
        id: { kind: "uuid" },
        createdAt: { kind: "timestamp" },
        "user.id": { kind: "uuid" },
        "user.email": { kind: "text" },
        method: { kind: "enum", values: signInMethods },
        "provider.id": { kind: "uuid" },
        address: { kind: "text" },
        outcome: { kind: "enum", values: ["succeeded", "failed"] },
        reason: { kind: "text" },
      },
    }),
  },
});
