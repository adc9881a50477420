import { Code, Table, Text } from "@mantine/core";
import { t } from "../../messages/i18n.ts";
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
    <Table className="record-table changes">
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
                  <Items sign="−" label={t("events.changes.removed")} items={change.before} className="removed" />
                  <Unchanged items={change.unchanged} isAlone={change.before === undefined} />
                </Table.Td>
                <Table.Td>
                  <Items sign="+" label={t("events.changes.added")} items={change.after} className="added" />
                  <Unchanged items={change.unchanged} isAlone={change.after === undefined} />
                </Table.Td>
              </>
            ) : (
              <>
                <Table.Td>
                  <Value field={change.field} text={change.before} />
                </Table.Td>
                <Table.Td>
                  <Value field={change.field} text={change.after} />
                </Table.Td>
              </>
            )}
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}

interface ItemsProps {
  readonly sign: string;
  readonly label: string;
  readonly items: string | undefined;
  readonly className: string;
}

/** The removed or the added items of a list. */
function Items({ sign, label, items, className }: ItemsProps) {
  if (items === undefined) return null;
  return (
    <>
      <span className={className}>
        <span aria-hidden>{sign} </span>
        <span className="unseen">{label} </span>
        <Code className="value">{items}</Code>
      </span>{" "}
    </>
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
      <Code className="value">{items.slice(0, mostUnchanged).join(", ")}</Code>
      {count > 0 && <Text c="dimmed">{t("events.changes.more", { count })}</Text>}
    </>
  );
}

function Value({ field, text }: { readonly field: string; readonly text: string | undefined }) {
  if (text === undefined || text === "") return <Text c="dimmed">–</Text>;
  const reading = field === "rule" ? formatRule(text) : undefined;
  if (reading !== undefined) return <RuleReading text={text} reading={reading} />;
  return <Code className="value">{text}</Code>;
}
