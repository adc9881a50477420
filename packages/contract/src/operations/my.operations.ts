/** Operations of every signed-in person, without any role. Each operation acts on own records only. */
import Type from "typebox";
import { list } from "../list.ts";
import { operation } from "../operation.ts";
import { Device } from "../records/device.ts";
import { MyAccessAnswer, MyResource, Myself } from "../records/my-access.ts";
import { closedObject, Name } from "../schema.ts";

const tag = "Self-service";

export const readMyself = operation({
  id: "readMyself",
  method: "GET",
  path: "/tenants/my",
  tag,
  summary: "Read who is signed in",
  access: "person",
  success: { status: 200, kind: "report", body: Myself },
});

export const listMyDevices = operation({
  id: "listMyDevices",
  method: "GET",
  path: "/tenants/my/devices",
  tag,
  summary: "List own devices",
  access: "person",
  success: { status: 200, kind: "array", item: Device },
});

export const readMyDevice = operation({
  id: "readMyDevice",
  method: "GET",
  path: "/tenants/my/devices/{id}",
  tag,
  summary: "Read an own device",
  access: "person",
  parameters: { id: "uuid" },
  success: { status: 200, kind: "record", body: Device },
});

export const renameMyDevice = operation({
  id: "renameMyDevice",
  method: "PATCH",
  path: "/tenants/my/devices/{id}",
  tag,
  summary: "Rename an own device",
  description: "Rules can read the name, so that access tests are checked. A person cannot override them.",
  access: "person",
  refusedInSets: "it belongs to the person who is signed in",
  changesAccess: true,
  parameters: { id: "uuid" },
  body: closedObject({ name: Name }),
  success: { status: 200, kind: "record", body: Device },
});

export const removeMyDevice = operation({
  id: "removeMyDevice",
  method: "DELETE",
  path: "/tenants/my/devices/{id}",
  tag,
  summary: "Remove an own device",
  description: "Cuts the device off and deletes its record. Removes the device from every policy that refers to it.",
  access: "person",
  refusedInSets: "it belongs to the person who is signed in",
  changesAccess: true,
  parameters: { id: "uuid" },
  success: { status: 204, kind: "empty" },
});

export const listMyAccess = operation({
  id: "listMyAccess",
  method: "GET",
  path: "/tenants/my/access",
  tag,
  summary: "List own access",
  description:
    "The resources that the person can reach now from the source address of the request, and those that a policy for the person allows in other circumstances. Other resources are not listed. Results are ordered by name.",
  access: "person",
  success: {
    status: 200,
    kind: "page",
    item: MyResource,
    list: list({ sort: [], filter: {} }),
    query: {
      device: { description: "Id of the own device that connects; none by default.", maxLength: 36 },
      search: { description: "Part of the name or of an address.", maxLength: 256 },
    },
  },
  errors: ["evaluation_too_expensive", "evaluation_rate_exceeded", "not_found"],
});

export const explainMyAccess = operation({
  id: "explainMyAccess",
  method: "POST",
  path: "/tenants/my/access/explanation",
  tag,
  summary: "Explain own access to one resource",
  description: "A resource that no policy for the person allows gets the same answer as one that does not exist.",
  access: "person",
  body: closedObject({
    to: Type.String({
      minLength: 1,
      maxLength: 256,
      description: "Id or name of a resource, an IP address, or a host name.",
    }),
    device: Type.Optional(
      Type.String({ maxLength: 36, description: "Id of the own device that connects; none by default." }),
    ),
  }),
  success: { status: 200, kind: "report", body: MyAccessAnswer },
  errors: ["evaluation_too_expensive", "evaluation_rate_exceeded", "not_found"],
});
