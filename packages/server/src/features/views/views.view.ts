import type { View } from "@gatehouse/contract/records/view";
import { isoTimestamp } from "../../platform/db/column-types.ts";
import type { ViewRow } from "./views.queries.ts";

export function viewView({ id, created_at, updated_at, list, name, settings }: ViewRow): View {
  return { id, createdAt: isoTimestamp(created_at), updatedAt: isoTimestamp(updated_at), list, name, ...settings };
}
