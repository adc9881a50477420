import Type from "typebox";
import { errorsOf, isPreviewable, type Operation, operation } from "../operation.ts";
import { AccessTestContext } from "../records/access-test.ts";
import { configurationLimitBytes } from "../records/configuration.ts";
import { AccessPreview } from "../records/preview.ts";
import { closedObject, component, oneOf } from "../schema.ts";
import * as addresses from "./addresses.operations.ts";
import * as admissionRules from "./admission-rules.operations.ts";
import * as configuration from "./configuration.operations.ts";
import * as devices from "./devices.operations.ts";
import * as gateways from "./gateways.operations.ts";
import * as groups from "./groups.operations.ts";
import * as policies from "./policies.operations.ts";
import * as resources from "./resources.operations.ts";
import * as users from "./users.operations.ts";

/** The most changes in one preview. */
export const maxPreviewedChanges = 100;

/** Rows on a page: the default, and the maximum. */
export const defaultPreviewRows = 100;
export const maxPreviewRows = 1_000;

const families = [policies, users, groups, devices, gateways, resources, addresses, admissionRules, configuration];

/** Every operation that can be previewed. `previews.test.ts` compares the list with all operations. */
export const previewableOperations: readonly Operation[] = families
  .flatMap((family) => Object.values<unknown>(family))
  .filter((value): value is Operation => typeof value === "object" && value !== null && "method" in value)
  .filter(isPreviewable);

const PreviewedChange = component("PreviewedChange", "A request as it would be sent to the API.", {
  method: oneOf(["POST", "PUT", "PATCH", "DELETE"]),
  path: Type.String({
    minLength: 1,
    maxLength: 1_000,
    pattern: "^/tenants/",
    description:
      "Path of an operation with its ids and without a query, such as /tenants/policies/01980000-0000-7000-8000-000000000001.",
  }),
  body: Type.Optional(Type.Unsafe<unknown>({ description: "The body of the request." })),
});

export const previewAccess = operation({
  id: "previewAccess",
  method: "POST",
  path: "/tenants/policies/preview",
  tag: "Policies",
  summary: "Preview the access impact of changes",
  description:
    "Returns who would gain and lose access, and which access tests would fail, if these requests were sent one after another. The requests are subject to the same rules and permissions as real ones. The first request that would be rejected determines the error response, with a pointer into `/changes`. Nothing is stored. A request cannot refer to a record that an earlier request would create, because the record has no id yet; applying a configuration can. Circumstances that `context` omits are left open, so that access is never, sometimes or always allowed.",
  access: "decisions:read",
  body: closedObject({
    changes: Type.Array(PreviewedChange, { minItems: 1, maxItems: maxPreviewedChanges }),
    context: Type.Optional(AccessTestContext),
    page: Type.Optional(
      component("PreviewPage", "The page of rows to return.", {
        limit: Type.Optional(
          Type.Integer({
            minimum: 0,
            maximum: maxPreviewRows,
            default: defaultPreviewRows,
            description: "The most rows to return.",
          }),
        ),
        offset: Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000_000_000_000, default: 0 })),
      }),
    ),
  }),
  bodyLimitBytes: configurationLimitBytes,
  success: { status: 200, kind: "report", body: AccessPreview },
  // A change fails with the errors of its own operation.
  errors: [
    ...new Set([
      "evaluation_too_expensive",
      "evaluation_rate_exceeded",
      "not_previewable",
      "preview_too_long",
      "not_found",
      "invalid_address",
      ...previewableOperations.flatMap(errorsOf),
    ] as const),
  ].filter((code) => code !== "access_tests_broken" && code !== "precondition_failed"),
});
