/** Validates all requests of a preview before any of them is performed, with the errors of the requests themselves. */
import type { previewAccess } from "@gatehouse/contract/operations/previews.operations";
import type { ProblemField } from "@gatehouse/contract/problem";
import { AppError, bodyField } from "../../platform/app-error.ts";
import { authorize } from "../../platform/authorization/granted.ts";
import type { Call, FoundRequest, RequestText } from "../../platform/call.ts";
import type { DryRun } from "../../platform/dry-run.ts";

/** A validated request. */
export interface PreparedChange {
  readonly index: number;
  readonly change: RequestText;
  readonly found: FoundRequest;
  readonly checked: ReturnType<FoundRequest["check"]>;
}

type PreviewCall = Call<typeof previewAccess>;

/**
 * Validates all changes in the order in which requests are checked: missing permissions are reported first.
 *
 * @throws AppError permission_denied, invalid_body, invalid_json, invalid_parameter, not_previewable; pointing to the
 * change
 */
export function preparedChanges(call: PreviewCall): readonly PreparedChange[] {
  const changes = call.body.changes.map((change, index) => ({
    index,
    change,
    found: call.plannedRequests.find(change),
  }));
  for (const { index, change, found } of changes) {
    const { access = "operator" } = found?.operation ?? {};
    if (access !== "operator") atChange(index, change, () => authorize(call.permissions, access));
  }
  const checked = changes.map(({ index, change, found }) => ({
    index,
    change,
    found,
    checked: atChange(index, change, () => found?.check()),
  }));
  return checked.map((prepared) => {
    const { index, change, found } = prepared;
    if (found !== undefined && prepared.checked !== undefined) return { ...prepared, found, checked: prepared.checked };
    const message = `${change.method} ${change.path.slice(0, 200)} cannot be previewed: only requests that can change access can`;
    throw new AppError("not_previewable", { errors: [bodyField(`/changes/${index}`, message)] });
  });
}

/** @throws AppError like the request itself, pointing to the change */
export async function performChange(
  call: PreviewCall,
  { index, change, found, checked }: PreparedChange,
  dryRun: DryRun,
): Promise<void> {
  try {
    await found.perform(call.inner(found.operation, checked, dryRun));
  } catch (error) {
    throw refusalAt(index, change, error);
  }
}

function atChange<T>(index: number, change: RequestText, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw refusalAt(index, change, error);
  }
}

/** The refusal of a change as a refusal of the preview. Other errors are returned unchanged. */
function refusalAt(index: number, { method, path }: RequestText, error: unknown): unknown {
  if (!(error instanceof AppError) || error.status >= 500) return error;
  const pointer = `/changes/${index}`;
  return new AppError(error.code, {
    detail: `${method} ${path.slice(0, 200)}: ${error.detail}`,
    errors: [bodyField(pointer, error.detail), ...(error.errors ?? []).map((field) => within(pointer, field))],
    cause: error,
  });
}

/**
 * A field of a nested request, as a field of the preview. Pointers may refer to the body, to a path parameter, or to
 * another record by its path.
 */
function within(pointer: string, { pointer: inner, message }: ProblemField): ProblemField {
  if (inner.startsWith("/tenants/")) return { pointer: inner, message };
  return { pointer: inner === "" || inner.startsWith("/") ? `${pointer}/body${inner}` : `${pointer}/path`, message };
}
