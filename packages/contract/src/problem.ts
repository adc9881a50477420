/** The body of every error: RFC 9457 problem details with a stable code. */
import Type, { type Static } from "typebox";
import { errorCodes } from "./errors.ts";
import { component, oneOf } from "./schema.ts";

export const Problem = component("Problem", "An error (RFC 9457).", {
  type: Type.String({ format: "uri-reference", description: "Stable for the code; a page that explains it." }),
  title: Type.String(),
  status: Type.Integer(),
  detail: Type.String({ description: "What was wrong this time, with which value, and what to do." }),
  instance: Type.String({ description: "The path that was called." }),
  code: oneOf(errorCodes),
  requestId: Type.String({ description: "Also in the header X-Request-Id, the log and the audit entry." }),
  errors: Type.Optional(
    Type.Array(
      component("ProblemField", "One field, and what is wrong with it.", {
        pointer: Type.String({ description: "A JSON Pointer (RFC 6901) into the body, or a parameter's name." }),
        message: Type.String(),
      }),
    ),
  ),
});
export type Problem = Static<typeof Problem>;
export type ProblemField = NonNullable<Problem["errors"]>[number];
