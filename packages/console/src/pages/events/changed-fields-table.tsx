import { Table, Text } from "@mantine/core";
import { t } from "../../messages/i18n.ts";
import { absent } from "../../records/absent.tsx";
import { ChangedValues, Chips } from "../../records/changed-values.tsx";
import { RuleReading } from "../../records/rule-reading.tsx";
import { formatRule } from "../admission-rules/format-condition.ts";
import { changedFields } from "./changed-fields.ts";
import { formatOperation } from "./format-operation.ts";

/** Fields that the page shows elsewhere, or that every change updates. */
const hidden = ["id", "createdAt", "updatedAt"];

interface ChangedFieldsProps {
  readonly before: Readonly<Record<string, unknown>> | undefined;
  readonly after: Readonly<Record<string, unknown>> | undefined;
  readonly titles?: readonly [string, string];
}

/** The difference between two states of a record, field by field. */
export function ChangedFields({
  before,
  after,
  titles = [t("events.changes.before"), t("events.changes.after")],
}: ChangedFieldsProps) {
  const changes = changedFields(before, after).filter(({ field }) => !hidden.includes(field));
  if (changes.length === 0) return <Text c="dimmed">{t("events.changes.same")}</Text>;
  return (
    <Table className="record-table">
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{t("events.changes.field")}</Table.Th>
          <Table.Th>{titles[0]}</Table.Th>
          <Table.Th>{titles[1]}</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {changes.map((change) => (
          <Table.Tr key={change.field}>
            <Table.Th scope="row" role="rowheader">
              {formatOperation(change.field)}
            </Table.Th>
            {change.unchanged !== undefined ? (
              <>
                <Table.Td>
                  <Unchanged items={change.unchanged} isAlone={change.before?.length === 0} />
                  <ChangedValues change="removed" values={change.before ?? []} />
                </Table.Td>
                <Table.Td>
                  <Unchanged items={change.unchanged} isAlone={change.after?.length === 0} />
                  <ChangedValues change="added" values={change.after ?? []} />
                </Table.Td>
              </>
            ) : (
              <>
                <Table.Td>
                  <Values field={change.field} texts={change.before} />
                </Table.Td>
                <Table.Td>
                  <Values field={change.field} texts={change.after} />
                </Table.Td>
              </>
            )}
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}

/** Longer lists, such as the members of a group, are counted. */
const mostUnchanged = 20;

interface UnchangedProps {
  readonly items: readonly string[];
  /** Whether the list has no other items. */
  readonly isAlone: boolean;
}

/** The items that the list has before and after the change. */
function Unchanged({ items, isAlone }: UnchangedProps) {
  if (items.length === 0) return isAlone ? <Text c="dimmed">{t("events.changes.none")}</Text> : null;
  const count = items.length - mostUnchanged;
  return (
    <>
      <span className="values">
        <Chips values={items.slice(0, mostUnchanged)} />
      </span>
      {count > 0 && <Text c="dimmed">{t("events.changes.more", { count })}</Text>}
    </>
  );
}

interface ValuesProps {
  readonly field: string;
  readonly texts: readonly string[] | undefined;
}

function Values({ field, texts }: ValuesProps) {
  if (texts === undefined || texts.join("") === "") {
    return texts?.length === 0 ? <Text c="dimmed">{t("events.changes.none")}</Text> : absent;
  }
  const [text = ""] = texts;
  const reading = field === "rule" ? formatRule(text) : undefined;
  if (reading !== undefined) return <RuleReading text={text} reading={reading} />;
  return (
    <span className="values">
      <Chips values={texts} />
    </span>
  );
}
