/** Named views of lists. Each person has own views. */
import Type from "typebox";
import { operation } from "../operation.ts";
import { ListName, maxViews, View, viewSettings } from "../records/view.ts";
import { closedObject, Name } from "../schema.ts";

const tag = "Self-service";

const settings = {
  search: Type.Optional(viewSettings.search),
  filters: Type.Optional(viewSettings.filters),
  sort: Type.Optional(viewSettings.sort),
  hiddenColumns: Type.Optional(viewSettings.hiddenColumns),
  density: Type.Optional(viewSettings.density),
  pageSize: Type.Optional(viewSettings.pageSize),
};

export const listViews = operation({
  id: "listViews",
  method: "GET",
  path: "/tenants/views",
  tag,
  summary: "List own views of lists",
  access: "person",
  success: { status: 200, kind: "array", item: View },
});

export const createView = operation({
  id: "createView",
  method: "POST",
  path: "/tenants/views",
  tag,
  summary: "Create a view of a list",
  description: `Omitted settings are empty, \`comfortable\`, and 25 rows. A person can have ${maxViews} views.`,
  access: "person",
  refusedInSets: "it belongs to the person who is signed in",
  body: closedObject({ list: ListName, name: Name, ...settings }),
  success: { status: 201, kind: "record", body: View },
  errors: ["name_taken", "view_limit_reached"],
});

export const readView = operation({
  id: "readView",
  method: "GET",
  path: "/tenants/views/{id}",
  tag,
  summary: "Read a view of the caller",
  access: "person",
  parameters: { id: "uuid" },
  success: { status: 200, kind: "record", body: View },
});

export const updateView = operation({
  id: "updateView",
  method: "PATCH",
  path: "/tenants/views/{id}",
  tag,
  summary: "Change a view of the caller",
  description: "Settings that the body does not contain stay as they are.",
  access: "person",
  refusedInSets: "it belongs to the person who is signed in",
  parameters: { id: "uuid" },
  body: closedObject({ name: Type.Optional(Name), ...settings }),
  success: { status: 200, kind: "record", body: View },
  errors: ["name_taken"],
});

export const deleteView = operation({
  id: "deleteView",
  method: "DELETE",
  path: "/tenants/views/{id}",
  tag,
  summary: "Delete a view of the caller",
  access: "person",
  refusedInSets: "it belongs to the person who is signed in",
  parameters: { id: "uuid" },
  success: { status: 204, kind: "empty" },
});
