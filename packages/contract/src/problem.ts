/** The body of every error: RFC 9457 problem details with a stable code. */
import Type, { type Static } from "typebox";
import { errorCodes } from "./errors.ts";
import { component, oneOf } from "./schema.ts";

export const Problem = component("Problem", "An error (RFC 9457).", {
  type: Type.String({
    format: "uri-reference",
    description: "Stable URI of the code, at which the server documents the error.",
  }),
  title: Type.String(),
  status: Type.Integer(),
  detail: Type.String({ description: "The problem with this request, including the value, and what to do." }),
  instance: Type.String({ description: "The path of the request." }),
  code: oneOf(errorCodes),
  requestId: Type.String({
    description: "Id of the request, as in the header X-Request-Id, the log and the audit entry.",
  }),
  errors: Type.Optional(
    Type.Array(
      component("ProblemField", "A field and its problem.", {
        pointer: Type.String({ description: "JSON Pointer (RFC 6901) into the body, or the name of a parameter." }),
        message: Type.String(),
      }),
    ),
  ),
});
export type Problem = Static<typeof Problem>;
export type ProblemField = NonNullable<Problem["errors"]>[number];
