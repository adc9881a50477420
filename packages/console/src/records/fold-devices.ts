/** Rows of access with the devices of each user on one line. */
import type { ItemAt } from "@gatehouse/client/calls";

export type AccessRow = ItemAt<"/tenants/access">;

export interface FoldedRow {
  readonly row: AccessRow;
  readonly devices: readonly { readonly id: string; readonly name: string }[];
  /** Whether the user also has access without a device. Nobody connects so; a site or a test may. */
  readonly isWithoutDevice: boolean;
}

/** The rows without those whose user also reaches the resource with a device, through the same policy. */
export function withoutDeviceless(rows: readonly AccessRow[]): readonly AccessRow[] {
  const withDevice = new Set(rows.filter(({ device }) => device !== undefined).map(lineOf));
  return rows.filter((row) => row.device !== undefined || !withDevice.has(lineOf(row)));
}

function lineOf({ user, resource, policy }: AccessRow): string {
  return `${user.id} ${resource.id} ${policy.id}`;
}

/** One line for all devices with which a user reaches a resource through the same policy. */
export function foldDevices(rows: readonly AccessRow[]): readonly FoldedRow[] {
  const lines = new Map<string, FoldedRow>();
  for (const row of rows) {
    const key = lineOf(row);
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
