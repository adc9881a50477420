import Type from "typebox";
import { errorsOf, operation } from "../operation.ts";
import { AccessTestContext } from "../records/access-test.ts";
import { Change, maxPreviewedChanges } from "../records/change-set.ts";
import { configurationLimitBytes } from "../records/configuration.ts";
import { AccessPreview } from "../records/preview.ts";
import { closedObject, component } from "../schema.ts";
import { previewableOperations } from "./change-set-operations.ts";

/** Rows on a page: the default, and the maximum. */
export const defaultPreviewRows = 100;
export const maxPreviewRows = 1_000;

export const previewAccess = operation({
  id: "previewAccess",
  method: "POST",
  path: "/tenants/policies/preview",
  tag: "Policies",
  summary: "Preview the access impact of changes",
  description:
    "Returns who would gain or lose access, and which access tests would fail, if these requests were sent one after another. The requests are subject to the same rules and permissions as real ones. The first request that would be rejected determines the error response, with a pointer into `/changes`. Nothing is stored. The changes are those of one change set, or of several that follow one another, with `as`, `@name` and `ifMatch`. A preview also accepts applying a configuration, whose body can have at most 32 MiB. The bodies of all other changes together can have at most 4 MiB. Circumstances that `context` omits are left open, so that access is never, sometimes or always allowed.",
  access: "decisions:read",
  wholeTenant: true,
  body: closedObject({
    changes: Type.Array(Change, { minItems: 1, maxItems: maxPreviewedChanges }),
    context: Type.Optional(AccessTestContext),
    invitationsAccepted: Type.Optional(
      Type.Boolean({
        default: false,
        description:
          "Whether pending users that the changes create or affect count as active, as they will after they accept their invitations. Otherwise, they have no access. Ignored if the caller lacks `users:write`.",
      }),
    ),
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
      "invalid_change_reference",
      "not_found",
      "invalid_address",
      ...previewableOperations.flatMap(errorsOf),
    ] as const),
  ],
});
