import Type from "typebox";
import { operation } from "../operation.ts";
import { EnrolmentLink, NewEnrolmentLink } from "../records/enrolment-link.ts";
import { closedObject } from "../schema.ts";

const tag = "Sign-in";

/** The field of requests that can send an email. */
export const Notify = Type.Boolean({
  description: "Whether to send the user an email with the link. Requires GATEHOUSE_SMTP_URL.",
});

export const createEnrolmentLink = operation({
  id: "createEnrolmentLink",
  method: "POST",
  path: "/tenants/users/{id}/enrolment-links",
  tag,
  summary: "Create an enrolment link for a user",
  description:
    "The user registers a passkey with the link or with its code, once, within seven days. Creating a link requires every permission that the user holds. The link works only while its creator holds every permission that the user holds at that time. A user has at most 10 open links: creating another one revokes the oldest. `If-Match` takes the user's ETag.",
  access: "users:write",
  dangerous: "the link outlives the session",
  parameters: { id: "uuid" },
  bodyOptional: true,
  body: closedObject({ notify: Type.Optional(Notify) }),
  refusedInSets: "its response shows a secret once",
  success: { status: 201, kind: "record", body: NewEnrolmentLink, located: true },
  errors: [
    "grants_exceed_caller",
    "user_deactivated",
    "single_sign_on_only",
    "mail_not_configured",
    "mail_limit_reached",
  ],
});

export const listEnrolmentLinks = operation({
  id: "listEnrolmentLinks",
  method: "GET",
  path: "/tenants/users/{id}/enrolment-links",
  tag,
  summary: "List a user's enrolment links",
  description: "Returns used and expired links too. They are deleted with the next link that is created.",
  access: "users:read",
  parameters: { id: "uuid" },
  success: { status: 200, kind: "array", item: EnrolmentLink },
});

export const deleteEnrolmentLink = operation({
  id: "deleteEnrolmentLink",
  method: "DELETE",
  path: "/tenants/users/{id}/enrolment-links/{linkId}",
  tag,
  summary: "Revoke an enrolment link",
  description:
    "Requires every permission that the user holds. An email with the link that was not sent yet is cancelled.",
  access: "users:write",
  refusedInSets: "it changes how a person signs in",
  parameters: { id: "uuid", linkId: "uuid" },
  success: { status: 204, kind: "empty" },
  errors: ["grants_exceed_caller"],
});
