/** Policies as rows: each names the policy, its action, its subjects and its resources, in this order. */
import { Table } from "@mantine/core";
import type { ReactNode } from "react";
import { t } from "../messages/i18n.ts";
import { actionWidth } from "./status.tsx";

/** Pixels. The columns of subjects and of resources share their space, so that usual names fit on one line. */
const nameWidth = 164;
/** So that the names of gateways stay on one line. */
const lastWidth = 100;

export interface PolicyRow {
  readonly key: string;
  readonly policy: ReactNode;
  readonly action: ReactNode;
  readonly subjects: ReactNode;
  readonly resources: ReactNode;
  /** The cell of the last column. */
  readonly last: ReactNode;
}

interface PolicyRowsProps {
  readonly label: string;
  readonly rows: readonly PolicyRow[];
  /** The last column differs between pages. */
  readonly last: { readonly title: string; readonly className?: string };
}

export function PolicyRows({ label, rows, last }: PolicyRowsProps) {
  const [subjects, resources] = [t("records.policiesTab.subjects"), t("access.found.columns.resources")];
  return (
    <Table.ScrollContainer minWidth={0} type="native" tabIndex={0} role="region" aria-label={label}>
      <Table className="record-table stacks sentences">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{t("access.found.columns.policy")}</Table.Th>
            <Table.Th>{t("records.policiesTab.action")}</Table.Th>
            <Table.Th>{subjects}</Table.Th>
            <Table.Th>{resources}</Table.Th>
            <Table.Th className={last.className}>{last.title}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map((row) => (
            <Table.Tr key={row.key}>
              <Table.Td>{row.policy}</Table.Td>
              <Table.Td miw={actionWidth}>{row.action}</Table.Td>
              <Table.Td miw={nameWidth} data-label={subjects}>
                {row.subjects}
              </Table.Td>
              <Table.Td miw={nameWidth} data-label={resources}>
                {row.resources}
              </Table.Td>
              <Table.Td miw={lastWidth} data-label={last.title} className={last.className}>
                {row.last}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}
