/** What the audit record keeps of an applied document: records as documents write them, with their ids. */
import type { ConfiguredKind } from "@gatehouse/contract/records/configuration";
import type { Change } from "../../../platform/change.ts";
import { documentEntry, type EntryContext } from "../document/document-entries.ts";
import type { SettingsOf } from "../document/settings.ts";
import type { RecordChange } from "../plan/plan-changes.ts";

/**
 * Of an update, only the fields that change; of sets, before what they lose and after what they gain: a policy may name
 * thousands of records, and be one of thousands that change.
 */
export function auditedChange(id: string, change: RecordChange<ConfiguredKind>, context: EntryContext): Change {
  const settings = change.action === "delete" ? change.before : change.after;
  const name = "email" in settings ? settings.email : settings.name;
  const own = "email" in settings ? { email: name } : { name };
  const base = { type: change.kind, id, name };
  switch (change.action) {
    case "create":
      return { ...base, after: { id, ...whole(change.kind, change.after, context) } };
    case "delete":
      return { ...base, before: { id, ...whole(change.kind, change.before, context) } };
    case "update": {
      const before: Record<string, unknown> = { id, ...own };
      const after: Record<string, unknown> = { id, ...own };
      for (const field of change.fields) {
        before[field.field] = field.removed ?? field.before;
        after[field.field] = field.added ?? field.after;
      }
      return { ...base, before, after };
    }
  }
}

function whole<K extends ConfiguredKind>(kind: K, settings: SettingsOf[K], context: EntryContext): object {
  const entry: object = documentEntry[kind](settings, context);
  return "allGroups" in settings ? { type: settings.type, ...entry } : entry;
}
