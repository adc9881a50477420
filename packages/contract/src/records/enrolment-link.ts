import Type, { type Static } from "typebox";
import { component, oneOf, Timestamp, Uuid } from "../schema.ts";

/** The states of an email. */
export const mailStatuses = ["pending", "sent", "failed"] as const;

export const Mail = component("Mail", "An email to a user.", {
  status: oneOf(mailStatuses),
  updatedAt: Type.Unsafe<string>({ ...Timestamp, description: "Time of the latest attempt, or of the request." }),
  error: Type.Optional(
    Type.String({
      description:
        "Why the latest attempt failed. An email fails if the SMTP server refuses it, or if it was not accepted within 24 hours.",
    }),
  ),
});
export type Mail = Static<typeof Mail>;

/** The wrong codes that a link accepts before its code is locked. */
export const maxCodeAttempts = 5;

const linkFields = {
  id: Uuid,
  createdAt: Timestamp,
  userId: Uuid,
  expiresAt: Timestamp,
  usedAt: Type.Optional(Timestamp),
  codeAttemptsLeft: Type.Integer({
    description: "Wrong codes that are left until the code is locked. The link itself stays valid.",
  }),
  mail: Type.Optional(Mail),
};

export const EnrolmentLink = component(
  "EnrolmentLink",
  "A one-time link with which a user registers a passkey, without its secrets.",
  linkFields,
);
export type EnrolmentLink = Static<typeof EnrolmentLink>;

export const NewEnrolmentLink = component(
  "NewEnrolmentLink",
  "An enrolment link with its secrets, which are shown only once.",
  {
    ...linkFields,
    url: Type.String({ description: "The link. The first person to open it can sign in as the user." }),
    code: Type.String({ description: "A short code that does the same when it is typed at `/console/enrol`." }),
  },
);
export type NewEnrolmentLink = Static<typeof NewEnrolmentLink>;
