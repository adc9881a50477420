import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useParams } from "@tanstack/react-router";
import { paged } from "../../app/api.ts";
import { usePermission } from "../../app/session.ts";
import { t } from "../../messages/i18n.ts";
import { DeleteRecord } from "../../records/delete-record.tsx";
import { createPolicy, EmptyState } from "../../records/empty-list.tsx";
import { LastChanged } from "../../records/last-changed.tsx";
import { MoreActions } from "../../records/more-actions.tsx";
import { RecordForm } from "../../records/record-form.tsx";
import { RecordLinks } from "../../records/record-link.tsx";
import { Facts, Panel, RecordPage } from "../../records/record-page.tsx";
import { RelativeTime } from "../../records/relative-time.tsx";
import { RuleReading } from "../../records/rule-reading.tsx";
import { useEditing } from "../../records/use-editing.ts";
import { readRecord, useRecord } from "../../records/use-record.ts";
import { formatBuiltIn, formatRule } from "./format-condition.ts";
import { RuleDifference } from "./rule-difference.tsx";
import { bodyOf, type Rule, ruleFields, ruleValues } from "./rule-fields.tsx";
import { WeekOf } from "./week-strip.tsx";

const path = "/tenants/admission-rules/{id}";
const policies = paged("/tenants/policies");

export function AdmissionRulePage() {
  const { id = "" } = useParams({ strict: false });
  const { data, error, refetch } = useRecord(path, id);
  const rule = data?.record;
  return (
    <RecordPage
      list={{ to: "/admission-rules", title: t("admissionRules.title") }}
      title={rule?.name}
      actions={data && <Actions rule={data.record} etag={data.etag} />}
      error={error}
      retry={refetch}
    >
      {rule && (
        <>
          <Panel title={t("common.about")}>
            <Facts
              facts={[
                {
                  label: t("admissionRules.fields.rule"),
                  value:
                    rule.rule === undefined ? (
                      formatBuiltIn(rule.type)
                    ) : (
                      <>
                        <RuleReading text={rule.rule} reading={formatRule(rule.rule)} />
                        <WeekOf text={rule.rule} />
                      </>
                    ),
                },
                {
                  label: t("admissionRules.fields.timeBased"),
                  value: rule.hasTimeConstraint ? t("common.yes") : t("common.no"),
                },
                { label: t("common.created"), value: <RelativeTime at={rule.createdAt} /> },
                { label: t("common.changed"), value: <LastChanged record={rule} /> },
              ]}
            />
          </Panel>
          <Uses id={id} />
        </>
      )}
    </RecordPage>
  );
}

function Uses({ id }: { readonly id: string }) {
  const canRead = usePermission("policies:read");
  const { data } = useQuery({
    queryKey: [policies.path, "of rule", id],
    enabled: canRead,
    queryFn: ({ signal }) => policies.read({ "filter[rule.id]": id, limit: 50 }, signal),
  });
  if (data === undefined) return null;
  return (
    <Panel title={t("admissionRules.policies", { count: data.total })}>
      {data.total === 0 ? (
        <EmptyState
          isPart
          empty={{
            title: t("policies.empty.title"),
            text: t("admissionRules.policiesEmpty"),
            action: createPolicy,
            guide: "console#policies",
          }}
        />
      ) : (
        <>
          <RecordLinks path="policies" records={data.data} />
          {data.total > data.data.length && ` ${t("common.andMore", { count: data.total - data.data.length })}`}
        </>
      )}
    </Panel>
  );
}

function Actions({ rule, etag }: { readonly rule: Rule; readonly etag: string }) {
  const canWrite = usePermission("admission-rules:write");
  const navigate = useNavigate();
  const [editing, { open, close }] = useEditing();
  const at = `/tenants/admission-rules/${rule.id}`;
  if (!canWrite || rule.type !== "CUSTOM") return null;
  return (
    <>
      <MoreActions>
        <DeleteRecord
          title={t("admissionRules.delete.title", { name: rule.name })}
          effect={t("admissionRules.delete.effect")}
          path={at}
          etag={etag}
          done={() => void navigate({ to: "/admission-rules" })}
        />
      </MoreActions>
      <Button onClick={open}>{t("common.edit")}</Button>
      {editing && (
        <RecordForm
          title={t("admissionRules.edit", { name: rule.name })}
          fields={ruleFields}
          initial={ruleValues(rule)}
          submitLabel={t("common.save")}
          plan={async (values) => [{ method: "PUT", path: at, body: await bodyOf(values) }]}
          reviewNote={(values, before) => <RuleDifference before={String(before.rule)} after={String(values.rule)} />}
          close={close}
          edits={{
            etag,
            reload: async () => {
              const stored = await readRecord(path, rule.id);
              return { values: ruleValues(stored.record), etag: stored.etag };
            },
          }}
        />
      )}
    </>
  );
}
