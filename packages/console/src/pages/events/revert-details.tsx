/** The preview of a revert: changed records, later events that it undoes, and what it cannot restore. */
import type { ResultOf } from "@gatehouse/client/calls";
import { Alert, List, Stack, Text } from "@mantine/core";
import { Warning } from "../../app/warning.tsx";
import { t } from "../../messages/i18n.ts";
import { RichText } from "../../messages/rich-text.tsx";
import { RecordLink } from "../../records/record-link.tsx";
import { RelativeTime } from "../../records/relative-time.tsx";
import { ChangedFields } from "./changed-fields-table.tsx";
import { formatOperation, formatPastOperation } from "./format-operation.ts";
import { formatNamedTarget } from "./format-target.ts";

export type Revert = ResultOf<"/tenants/events/{id}/revert", "post">;

const mostShown = 10;

export function RevertDetails({ revert }: { readonly revert: Revert }) {
  const { changes, records, recordCount, undoes, moreUndone, cannot, recreated, alsoRecreated, refused } = revert;
  const left = recordCount - Math.min(records.length, mostShown);
  return (
    <Stack gap="sm">
      {changes.length === 0 && cannot.length === 0 && <Text>{t("events.revert.same")}</Text>}
      {refused !== undefined && (
        <Alert color="red" title={t("events.revert.refused")} role="alert">
          {refused.detail}
        </Alert>
      )}
      {(recreated ?? alsoRecreated?.[0]) !== undefined && <Text>{t("events.revert.newId")}</Text>}
      {records.slice(0, mostShown).map((record) => (
        <ChangedRecord key={record.target.id} record={record} />
      ))}
      {left > 0 && <Text c="dimmed">{t("events.revert.moreRecords", { count: left })}</Text>}
      {(undoes.length > 0 || moreUndone) && (
        <Warning title={t("events.revert.undoes")}>
          <List size="sm">
            {undoes.map((event) => (
              <List.Item key={event.id}>
                <RecordLink to={`/events/${event.id}`} inText>
                  {formatPastOperation(event.operation)}
                </RecordLink>{" "}
                (<RelativeTime at={event.createdAt} />)
                {event.fields.length > 0 && `: ${event.fields.map(formatOperation).join(", ")}`}
              </List.Item>
            ))}
          </List>
          {moreUndone && <Text size="sm">{t("events.revert.moreUndone")}</Text>}
        </Warning>
      )}
      {cannot.length > 0 && (
        <Warning title={t("events.revert.cannot")}>
          <List size="sm">
            {cannot.map((reason) => (
              <List.Item key={`${reason.code} ${reason.field} ${reason.record?.id}`}>
                <Reason reason={reason} />
              </List.Item>
            ))}
          </List>
        </Warning>
      )}
    </Stack>
  );
}

function ChangedRecord({ record: { target, before, after } }: { readonly record: Revert["records"][number] }) {
  const values = { record: formatNamedTarget(target) };
  if (before === undefined) return <Text>{t("events.revert.creates", values)}</Text>;
  if (after === undefined) return <Text>{t("events.revert.deletes", values)}</Text>;
  return (
    <section aria-label={t("events.revert.changes", values)}>
      <Text fw={600}>{t("events.revert.changes", values)}</Text>
      <ChangedFields
        before={before}
        after={after}
        titles={[t("events.revert.columns.now"), t("events.revert.columns.reverted")]}
      />
    </section>
  );
}

function Reason({ reason: { message, field, event } }: { readonly reason: Revert["cannot"][number] }) {
  const text = field === undefined ? message : t("events.revert.reason", { field: formatOperation(field), message });
  if (event === undefined) return text;
  return (
    <RichText
      message="events.revert.reasonWithEvent"
      values={{ text }}
      elements={{ event: <RecordLink to={`/events/${event}`} inText /> }}
    />
  );
}
