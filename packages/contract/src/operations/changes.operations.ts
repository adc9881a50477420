import Type from "typebox";
import { errorsOf, operation } from "../operation.ts";
import { Change, ChangeSetResult, changeSetLimitBytes, maxChanges } from "../records/change-set.ts";
import { closedObject } from "../schema.ts";
import { setOperations } from "./change-set-operations.ts";

export const applyChanges = operation({
  id: "applyChanges",
  method: "POST",
  path: "/tenants/changes",
  tag: "Changes",
  summary: "Apply a set of changes",
  description:
    "Performs the changes one after another in one transaction: either all of them or none. Each change is subject to the rules and the permission of its own operation, and has its own audit entries. All entries belong to one generation. A change can refer to a record that an earlier change creates: `as` gives the record a name, and `@name` takes the place of its id. Enforced access tests are decided once, after the last change. The first change that is rejected determines the error response, with a pointer into `/changes`. `If-Match` takes the tenant's generation, such as that of a preview, and the ETag of the response is the new one; `ifMatch` of a change takes the ETag of its record. Reads, operations that show a secret once and applying a configuration cannot be part of a set. If a change is dangerous, people must have authenticated in the last 15 minutes. The body can have at most 4 MiB, and each change at most as much as its own operation allows.",
  access: "any-key",
  harmless: "it requires what its changes require, and shows people no tokens of gateways",
  changesAccess: true,
  conditional: true,
  refusedInSets: "a change set cannot contain another",
  body: closedObject({ changes: Type.Array(Change, { minItems: 1, maxItems: maxChanges }) }),
  bodyLimitBytes: changeSetLimitBytes,
  success: { status: 200, kind: "record", body: ChangeSetResult },
  // A change fails with the errors of its own operation.
  errors: [
    ...new Set([
      "not_allowed_in_set",
      "invalid_change_reference",
      "change_set_too_long",
      ...setOperations.flatMap(errorsOf),
    ] as const),
  ],
});
