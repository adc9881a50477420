/** Rows of access with the devices of each user on one line. */
import type { ItemAt } from "@gatehouse/client/calls";

export type AccessRow = ItemAt<"/tenants/access">;

export interface FoldedRow {
  readonly row: AccessRow;
  readonly devices: readonly { readonly id: string; readonly name: string }[];
  /** Whether the user also has access without a device. Nobody connects so; a site or a test may. */
  readonly isWithoutDevice: boolean;
}

/** One line for all devices with which a user reaches a resource through the same policy. */
export function foldDevices(rows: readonly AccessRow[]): readonly FoldedRow[] {
  const lines = new Map<string, FoldedRow>();
  for (const row of rows) {
    const key = `${row.user.id} ${row.resource.id} ${row.policy.id}`;
    const line = lines.get(key) ?? { row, devices: [], isWithoutDevice: false };
    lines.set(
      key,
      row.device === undefined
        ? { ...line, isWithoutDevice: true }
        : { ...line, devices: [...line.devices, row.device] },
    );
  }
  return [...lines.values()];
}
