/** The fields that define who reaches a resource, and under which conditions. */
import { Checkbox, Group, Stack, Switch, Text, Title } from "@mantine/core";
import type { ReactNode } from "react";
import { formatOwnZone } from "../../messages/format.ts";
import { t } from "../../messages/i18n.ts";
import { Panel } from "../../records/record-page.tsx";
import { RecordPicker } from "../../records/record-picker.tsx";
import { HoursFields } from "../../records/time-fields.tsx";
import type { Access } from "./publish-changes.ts";

export const noAccess: Access = {
  everyone: false,
  groups: [],
  needsEncryptedDisk: false,
  needsOfficeHours: false,
  hours: { from: 8 * 60, to: 18 * 60, zone: formatOwnZone() },
};

interface AccessFieldsProps {
  readonly access: Access;
  readonly change: (next: Partial<Access>) => void;
  readonly problem: string | undefined;
  readonly Part: typeof Step;
}

export function AccessFields({ access, change, problem, Part }: AccessFieldsProps) {
  const { hours } = access;
  const changeHours = (next: Partial<typeof hours>) => change({ hours: { ...hours, ...next } });
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
            description={t("publish.who.groupsHelp")}
            withAsterisk
            value={access.groups}
            onChange={(groups) => change({ groups })}
            error={problem}
          />
        )}
      </Part>
      <Part title={t("publish.conditions.title")}>
        <Text size="sm" c="dimmed">
          {t("publish.conditions.text")}
        </Text>
        <Checkbox
          label={t("publish.conditions.disk")}
          description={t("publish.conditions.diskHelp")}
          checked={access.needsEncryptedDisk}
          onChange={({ currentTarget }) => change({ needsEncryptedDisk: currentTarget.checked })}
        />
        <Checkbox
          label={t("publish.conditions.hours")}
          checked={access.needsOfficeHours}
          onChange={({ currentTarget }) => change({ needsOfficeHours: currentTarget.checked })}
        />
        {access.needsOfficeHours && (
          <Group align="flex-start" gap="sm" className="below-checkbox">
            <HoursFields hours={hours} set={changeHours} />
          </Group>
        )}
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
    <Panel title={title}>
      <Stack gap="sm">{children}</Stack>
    </Panel>
  );
}

/** A part of a form inside a step, which has a title of the third order and needs no frame. */
export function PlainPart({ title, children }: PartProps) {
  return (
    <Stack gap="sm" component="section" aria-label={title}>
      <Title order={4} fz="sm">
        {title}
      </Title>
      {children}
    </Stack>
  );
}
