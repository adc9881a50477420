/** The fields that define who reaches a resource, and under which conditions. */
import { Checkbox, Paper, Stack, Switch, Title } from "@mantine/core";
import type { ReactNode } from "react";
import { t } from "../../messages/i18n.ts";
import { RecordPicker } from "../../records/record-picker.tsx";
import { type Access, officeHours } from "./publish-changes.ts";

export const noAccess: Access = {
  everyone: false,
  groups: [],
  needsEncryptedDisk: false,
  needsOfficeHours: false,
  zone: Intl.DateTimeFormat().resolvedOptions().timeZone,
};

interface AccessFieldsProps {
  readonly access: Access;
  readonly change: (next: Partial<Access>) => void;
  readonly problem: string | undefined;
  readonly Part: typeof Step;
}

export function AccessFields({ access, change, problem, Part }: AccessFieldsProps) {
  return (
    <>
      <Part title={t("publish.who.title")}>
        <Switch
          label={t("publish.who.everyone")}
          checked={access.everyone}
          onChange={({ currentTarget }) => change({ everyone: currentTarget.checked })}
        />
        {!access.everyone && (
          <RecordPicker
            path="/tenants/groups"
            label={t("publish.who.groups")}
            value={access.groups}
            onChange={(groups) => change({ groups })}
            error={problem}
          />
        )}
      </Part>
      <Part title={t("publish.conditions.title")}>
        <Checkbox
          label={t("publish.conditions.disk")}
          checked={access.needsEncryptedDisk}
          onChange={({ currentTarget }) => change({ needsEncryptedDisk: currentTarget.checked })}
        />
        <Checkbox
          label={t("publish.conditions.hours", { ...officeHours, zone: access.zone })}
          checked={access.needsOfficeHours}
          onChange={({ currentTarget }) => change({ needsOfficeHours: currentTarget.checked })}
        />
      </Part>
    </>
  );
}

interface PartProps {
  readonly title: string;
  readonly children: ReactNode;
}

/** A part of a page. */
export function Step({ title, children }: PartProps) {
  return (
    <Paper withBorder p="md" component="section" aria-label={title}>
      <Title order={2} mb="sm">
        {title}
      </Title>
      <Stack gap="sm">{children}</Stack>
    </Paper>
  );
}

/** A part of a form inside a panel, which needs no frame. */
export function PlainPart({ children }: PartProps) {
  return <Stack gap="sm">{children}</Stack>;
}
