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

/** Changes that one preview takes at most. */
export const mostPreviewedChanges = 100;

/** Rows on a page: where the request names no limit, and at most. */
export const usualRows = 100;
export const mostRows = 1_000;

const families = [policies, users, groups, devices, gateways, resources, addresses, admissionRules, configuration];

/** What can be previewed; `previews.test.ts` compares with all operations. */
export const previewableOperations: readonly Operation[] = families
  .flatMap((family) => Object.values<unknown>(family))
  .filter((value): value is Operation => typeof value === "object" && value !== null && "method" in value)
  .filter(isPreviewable);

const PreviewedChange = component("PreviewedChange", "A request, as it would be sent.", {
  method: oneOf(["POST", "PUT", "PATCH", "DELETE"]),
  path: Type.String({
    minLength: 1,
    maxLength: 1_000,
    pattern: "^/tenants/",
    description:
      "the path of an operation, with the ids in it and without a query, such as /tenants/policies/01980000-0000-7000-8000-000000000001",
  }),
  body: Type.Optional(Type.Unsafe<unknown>({ description: "As the operation takes it." })),
});

export const previewAccess = operation({
  id: "previewAccess",
  method: "POST",
  path: "/tenants/policies/preview",
  tag: "Policies",
  summary: "See what changes would do to access",
  description:
    "Answers who would gain and who would lose access to what, and which access tests would be broken, if these requests were sent one after the other. They are held against the same rules and rights as if they were, and the first that would be refused is answered as its refusal, with `/changes/…` as pointer. Nothing is stored. A request cannot name what an earlier one would create, as that has no id yet; applying a configuration can. Circumstances that `context` does not give are left open: access then is never, sometimes, or always.",
  access: "decisions:read",
  body: closedObject({
    changes: Type.Array(PreviewedChange, { minItems: 1, maxItems: mostPreviewedChanges }),
    context: Type.Optional(AccessTestContext),
    page: Type.Optional(
      component("PreviewPage", "Which rows are asked for.", {
        limit: Type.Optional(
          Type.Integer({ minimum: 0, maximum: mostRows, default: usualRows, description: "Rows at most." }),
        ),
        offset: Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000_000_000_000, default: 0 })),
      }),
    ),
  }),
  bodyLimitBytes: configurationLimitBytes,
  success: { status: 200, kind: "report", body: AccessPreview },
  // A change is refused as its own request would be.
  errors: [
    ...new Set([
      "not_previewable",
      "preview_too_long",
      "not_found",
      "invalid_address",
      ...previewableOperations.flatMap(errorsOf),
    ] as const),
  ].filter((code) => code !== "access_tests_broken" && code !== "precondition_failed"),
});
