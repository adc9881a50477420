import Type, { type Static } from "typebox";
import { component, oneOf, Uuid } from "../schema.ts";

/** The most changes in one change set. */
export const maxChanges = 100;

/** The most changes in one preview, which can cover several change sets. */
export const maxPreviewedChanges = 1_000;

/**
 * The largest body of a change set. Validating a change blocks other tenants, and takes time in proportion to its size.
 */
export const changeSetLimitBytes = 4 * 1_048_576;

/** The form of names that changes give to the records that they create, without anchors. */
export const changeNamePattern = "[A-Za-z][A-Za-z0-9_-]{0,63}";

export const Change = component("Change", "A write request, as it would be sent to the API.", {
  method: oneOf(["POST", "PUT", "PATCH", "DELETE"]),
  path: Type.String({
    minLength: 1,
    maxLength: 1_000,
    pattern: "^/tenants/",
    description:
      "Path of an operation with its ids and without a query, such as /tenants/policies/01980000-0000-7000-8000-000000000001. `@name` takes the place of the id of a record that an earlier change creates, such as /tenants/users/@ada/groups.",
  }),
  body: Type.Optional(
    Type.Unsafe<unknown>({
      description:
        "The body of the request. Each field that takes the id of a record also takes `@name`, the id of a record that an earlier change creates. Other fields are sent as they are, even if they begin with @.",
    }),
  ),
  ifMatch: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 1_000,
      description: "The header `If-Match` of the request: the ETag of the version to change.",
    }),
  ),
  as: Type.Optional(
    Type.String({
      pattern: `^${changeNamePattern}$`,
      description:
        "a name for the record that this change creates: a letter, then up to 63 letters, digits, underscores and hyphens. Later changes refer to the record as `@name`",
    }),
  ),
});
export type Change = Static<typeof Change>;

export const ChangeResult = component("ChangeResult", "The response to one change.", {
  status: Type.Integer({ description: "The status of the request's own response." }),
  etag: Type.Optional(
    Type.String({ description: "The record's version after this change. A later change of the set may replace it." }),
  ),
  location: Type.Optional(Type.String({ description: "The path of the record that the change created." })),
  events: Type.Array(Uuid, { description: "Ids of the audit entries of this change; empty if it changed nothing." }),
  body: Type.Optional(Type.Unsafe<unknown>({ description: "The body of the request's own response, if it has one." })),
});
export type ChangeResult = Static<typeof ChangeResult>;

export const ChangeSetResult = component("ChangeSetResult", "The responses to the changes of a set.", {
  generation: Type.Integer({
    minimum: 0,
    description: "The tenant's generation after the set. All changes of a set belong to one generation.",
  }),
  changes: Type.Array(ChangeResult, { description: "One entry for each change, in the same order." }),
});
export type ChangeSetResult = Static<typeof ChangeSetResult>;
