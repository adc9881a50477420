import Type, { type Static } from "typebox";
import { component, identity, Name, oneOf, shortText } from "../schema.ts";

/** The most views of a person. */
export const maxViews = 100;

export const viewDensities = ["comfortable", "compact"] as const;

/** How a list is shown. The console gives the fields their meaning; the API only stores them. */
export const viewSettings = {
  search: shortText(256, "The text that the list is searched for."),
  filters: Type.Unsafe<Readonly<Record<string, string>>>({
    type: "object",
    maxProperties: 32,
    additionalProperties: { type: "string", maxLength: 256, pattern: "^[^\\u0000]*$" },
    propertyNames: { minLength: 1, maxLength: 64, pattern: "^[^\\u0000]*$" },
    description: "Values of the list's filters by their names.",
  }),
  sort: shortText(64, "The field by which the list is sorted; `-` before it for descending order."),
  hiddenColumns: Type.Array(shortText(64), { maxItems: 64, description: "Columns that are not shown." }),
  density: oneOf(viewDensities),
  pageSize: Type.Integer({ minimum: 1, maximum: 100, description: "Rows on a page." }),
};

export const ListName = Type.String({
  pattern: "^[a-z][a-z0-9-]{0,63}$",
  description: "The list, such as `users`.",
});

export const View = component("View", "A named view of a list, which belongs to a person.", {
  ...identity,
  list: Type.String(),
  name: Name,
  ...viewSettings,
});
export type View = Static<typeof View>;
