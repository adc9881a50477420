/** The response to a revert and to its preview. */
import type { ChangeResult } from "@gatehouse/contract/records/change-set";
import {
  type ChangedRecord,
  maxRevertedRecords,
  type RecreatedRecord,
  type Revert,
  type RevertScope,
} from "@gatehouse/contract/records/revert";
import { AppError } from "../../platform/app-error.ts";
import type { Change } from "../../platform/change.ts";
import type { EventHistory } from "./event-history.ts";
import type { PerformedRevert } from "./perform-revert.ts";

interface Result {
  readonly scope: RevertScope;
  readonly generation: number;
  readonly changed: readonly Change[];
  /** Undefined for a preview. */
  readonly results?: readonly ChangeResult[];
}

export function revertView(
  { event, request }: EventHistory,
  performed: PerformedRevert,
  { scope, generation, changed, results }: Result,
): Revert {
  const records = changedRecords(changed);
  const own = performed.recreated.get(event.id);
  const others = [...performed.recreated].flatMap(([id, record]) => (id === event.id ? [] : [record]));
  const isPreview = results === undefined;
  return {
    event: event.id,
    preview: isPreview,
    scope,
    requestEvents: request.length,
    generation,
    changes: [...performed.changes],
    ...(isPreview ? {} : { results: [...results] }),
    records: records.slice(0, maxRevertedRecords),
    recordCount: records.length,
    undoes: [...performed.undoes],
    moreUndone: performed.undoesMore,
    cannot: [...performed.cannot],
    ...(own === undefined ? {} : { recreated: recreatedView(own, isPreview) }),
    ...(others.length === 0 ? {} : { alsoRecreated: others.map((record) => recreatedView(record, isPreview)) }),
  };
}

/** The ids in a preview do not remain. */
function recreatedView({ type, formerId, id }: RecreatedRecord, isPreview: boolean): RecreatedRecord {
  return { type, formerId, ...(isPreview || id === undefined ? {} : { id }) };
}

/** Each changed record once, with its states before the first and after the last change. */
function changedRecords(changes: readonly Change[]): readonly ChangedRecord[] {
  const records = new Map<string, ChangedRecord>();
  for (const { type, id, name, before, after } of changes) {
    const key = `${type} ${id}`;
    const earlier = records.get(key);
    const first = earlier === undefined ? before : earlier.before;
    records.set(key, {
      target: { type, id, ...(name === undefined ? {} : { name }) },
      ...(first === undefined ? {} : { before: { ...first } }),
      ...(after === undefined ? {} : { after: { ...after } }),
    });
  }
  return [...records.values()];
}

/** The refusal that a preview reports. Missing permissions and failures are errors of the preview itself. */
export function refusalOf(error: unknown): NonNullable<Revert["refused"]> {
  if (!(error instanceof AppError) || error.status >= 500 || isAboutPreview(error)) throw error;
  const { code, detail, errors } = error;
  return { code, detail, ...(errors === undefined ? {} : { errors: [...errors] }) };
}

function isAboutPreview({ code }: AppError): boolean {
  return code === "permission_denied" || code === "preview_too_long";
}
