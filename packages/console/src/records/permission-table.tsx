/** A table of permissions by kind of record, to choose from or to read. */
import { type Permission, permissions } from "@gatehouse/contract/permissions";
import { Anchor, Button, Checkbox, Group, Input, Stack, Table } from "@mantine/core";
import { Check, X } from "lucide-react";
import { useId } from "react";
import type { records as messages } from "../messages/en/records.ts";
import { t } from "../messages/i18n.ts";
import { Absent } from "./absent.tsx";
import { ValueNote } from "./value-note.tsx";

interface Preset {
  readonly label: string;
  readonly permissions: readonly Permission[];
  /** The purpose, in one sentence. Absent for a preset with the name of a role. */
  readonly about?: string;
}

interface PermissionTableProps {
  readonly label: string;
  readonly held: readonly Permission[];
  /** Absent if the table is read-only. */
  readonly onChange?: (held: readonly Permission[]) => void;
  /** The permissions that can be selected. */
  readonly offered?: readonly Permission[];
  /** Sets of permissions to select at once. */
  readonly presets?: readonly Preset[];
  readonly error?: string | undefined;
}

/** Only as wide as its heading on a narrow screen, so that the help has room. */
const columnWidth = { base: 52, xs: 90 };

const readNoun = (noun: string) => t("records.permissions.readNoun", { noun });

/** Permissions of one verb, with the name of their row and of their checkbox. */
const special = [
  ["gateways:token", t("records.permissions.gatewayTokens"), readNoun(t("records.permissions.gatewayTokens"))],
  ["events:read", t("records.permissions.events"), readNoun(t("records.permissions.events"))],
  ["decisions:read", t("records.permissions.queryAccess"), t("records.permissions.queryAccess")],
] as const;

/** Stands for a permission that does not exist, unlike one that is not granted. */
const nonexistent = <Absent label={t("records.permissions.nonexistent")} />;

type Noun = keyof typeof messages.permissions.nouns;

const nouns = [
  ...new Set(
    // Every permission outside `special` is `<noun>:read` or `<noun>:write`.
    permissions
      .filter((permission) => special.every(([each]) => each !== permission))
      .map((permission) => permission.split(":")[0] as Noun),
  ),
];

export function PermissionTable(props: PermissionTableProps) {
  const { label, held, onChange, offered = permissions, presets = [], error } = props;
  const id = useId();
  const box = (permission: string, name: string) => {
    const known = permissions.find((each) => each === permission);
    if (known === undefined) return nonexistent;
    const checked = held.includes(known);
    if (onChange === undefined) {
      return checked ? (
        <Check size={16} role="img" aria-label={t("common.yes")} className="granted" />
      ) : (
        <X size={16} role="img" aria-label={t("common.no")} className="not-granted" />
      );
    }
    return (
      <Checkbox
        // The minimum size of a target, also next to the sticky buttons.
        size="xs"
        aria-label={name}
        checked={checked}
        // A key cannot grant a permission that it does not hold.
        disabled={!offered.includes(known) && !checked}
        onChange={({ currentTarget }) =>
          onChange(permissions.filter((each) => (each === known ? currentTarget.checked : held.includes(each))))
        }
      />
    );
  };
  return (
    <Stack gap="xs">
      {onChange !== undefined && (
        <>
          <div>
            <Input.Label component="div" required>
              {label}
            </Input.Label>
            <Group justify="space-between" align="baseline" gap="md" wrap="nowrap">
              <Input.Description component="div" id={`${id}-presets`}>
                {t("apiKeys.presets.label")}
              </Input.Description>
              <Anchor component="button" type="button" size="xs" onClick={() => onChange([])}>
                {t("apiKeys.presets.none")}
              </Anchor>
            </Group>
          </div>
          <Group gap="xs" role="group" aria-labelledby={`${id}-presets`}>
            {presets.map((preset) => {
              const chosen = permissions.filter(
                (permission) => preset.permissions.includes(permission) && offered.includes(permission),
              );
              const isChosen = held.length > 0 && isSame(chosen, held);
              return (
                <Button
                  key={preset.label}
                  size="xs"
                  variant={isChosen ? "filled" : "default"}
                  aria-pressed={isChosen}
                  {...(preset.about === undefined ? {} : { "aria-describedby": `${id}-about` })}
                  onClick={() => onChange(chosen)}
                >
                  {t("common.titleCount", { title: preset.label, count: chosen.length })}
                </Button>
              );
            })}
          </Group>
          <Input.Description component="div" id={`${id}-about`}>
            {presets.flatMap(({ about }) => about ?? []).join(" ")}
          </Input.Description>
        </>
      )}
      <Table aria-label={label} className="record-table">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{t("records.permissions.permission")}</Table.Th>
            <Table.Th w={columnWidth}>{t("records.permissions.read")}</Table.Th>
            <Table.Th w={columnWidth}>{t("records.permissions.write")}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {nouns.map((key) => {
            const noun = t(`records.permissions.nouns.${key}`);
            return (
              <Table.Tr key={key}>
                <Table.Th scope="row" role="rowheader">
                  {noun}
                  <Help of={key} />
                </Table.Th>
                <Table.Td>{box(`${key}:read`, readNoun(noun))}</Table.Td>
                <Table.Td>{box(`${key}:write`, t("records.permissions.writeNoun", { noun }))}</Table.Td>
              </Table.Tr>
            );
          })}
          {special.map(([permission, name, label]) => (
            <Table.Tr key={permission}>
              <Table.Th scope="row" role="rowheader">
                {name}
                <Help of={permission} />
              </Table.Th>
              <Table.Td>{box(permission, label)}</Table.Td>
              <Table.Td>{nonexistent}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      {error !== undefined && <Input.Error>{error}</Input.Error>}
    </Stack>
  );
}

function Help({ of: permission }: { readonly of: keyof typeof messages.permissions.help }) {
  return <ValueNote>{t(`records.permissions.help.${permission}`)}</ValueNote>;
}

function isSame(some: readonly Permission[], others: readonly Permission[]): boolean {
  return some.length === others.length && some.every((permission) => others.includes(permission));
}
