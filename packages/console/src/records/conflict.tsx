/** A save conflict. Changes to different fields are merged; where both sides changed a field, a person chooses. */
import { Button, Group, Radio, Stack, Table, Text } from "@mantine/core";
import { useState } from "react";
import { Warning } from "../app/warning.tsx";
import { formatList } from "../messages/format.ts";
import { t } from "../messages/i18n.ts";
import { type Field, formatValue, type Values } from "./form-fields.tsx";
import type { Merge } from "./merge-values.ts";

interface ConflictProps {
  readonly fields: readonly Field[];
  readonly merge: Merge;
  readonly stored: Values;
  readonly busy: boolean;
  /** @param values each side's changes, and the chosen value of each contested field */
  readonly save: (values: Values) => void;
  readonly takeStored: () => void;
}

type Side = "mine" | "stored";

export function Conflict({
  fields,
  merge: { merged, contested, theirs },
  stored,
  busy,
  save,
  takeStored,
}: ConflictProps) {
  const [choices, setChoices] = useState<Readonly<Record<string, Side>>>({});
  const chosen = contested.filter((name) => choices[name] === "stored");
  const values = { ...merged, ...Object.fromEntries(chosen.map((name) => [name, stored[name]])) };
  const labels = fields.filter(({ name }) => theirs.includes(name)).map(({ label }) => label);
  return (
    <Stack>
      <Warning title={t("records.conflict.title")} role="alert">
        {contested.length > 0 ? t("records.conflict.differs") : t("records.conflict.merged")}
      </Warning>
      {labels.length > 0 && <Text>{t("records.conflict.theirs", { fields: formatList(labels) })}</Text>}
      {contested.length > 0 && (
        <Table aria-label={t("records.conflict.table")}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{t("records.conflict.field")}</Table.Th>
              <Table.Th>{t("records.conflict.yours")}</Table.Th>
              <Table.Th>{t("records.conflict.stored")}</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {fields
              .filter(({ name }) => contested.includes(name))
              .map((field) => (
                <Table.Tr key={field.name}>
                  <Table.Th scope="row" role="rowheader">
                    {field.label}
                  </Table.Th>
                  {(["mine", "stored"] as const).map((side) => (
                    <Table.Td key={side}>
                      <Radio
                        name={`conflict-${field.name}`}
                        label={formatValue(field, (side === "mine" ? merged : stored)[field.name])}
                        checked={(choices[field.name] ?? "mine") === side}
                        onChange={() => setChoices((now) => ({ ...now, [field.name]: side }))}
                      />
                    </Table.Td>
                  ))}
                </Table.Tr>
              ))}
          </Table.Tbody>
        </Table>
      )}
      <Group justify="flex-end">
        <Button variant="default" onClick={takeStored}>
          {t("records.conflict.discardMine")}
        </Button>
        <Button onClick={() => save(values)} loading={busy}>
          {t("records.conflict.save")}
        </Button>
      </Group>
    </Stack>
  );
}
