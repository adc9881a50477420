import { Button, Group, Stack, Text } from "@mantine/core";
import { useNavigate, useParams } from "@tanstack/react-router";
import { usePermission } from "../../app/session.ts";
import { t } from "../../messages/i18n.ts";
import { RichText } from "../../messages/rich-text.tsx";
import { usePolicies } from "../../records/all-policies.ts";
import { DeleteRecord } from "../../records/delete-record.tsx";
import { LastChanged } from "../../records/last-changed.tsx";
import { MoreActions } from "../../records/more-actions.tsx";
import { RecordForm } from "../../records/record-form.tsx";
import { RecordLink, RecordLinks } from "../../records/record-link.tsx";
import { Facts, Panel, RecordPage } from "../../records/record-page.tsx";
import { RelativeTime } from "../../records/relative-time.tsx";
import { ReviewedButton } from "../../records/reviewed-change.tsx";
import { RuleReading } from "../../records/rule-reading.tsx";
import { PolicyAction, Status } from "../../records/status.tsx";
import { useEditing } from "../../records/use-editing.ts";
import { readRecord, useRecord } from "../../records/use-record.ts";
import { formatRule } from "../admission-rules/format-condition.ts";
import { formatAllOf, modes, type Policy, policyTypes } from "./format-policy.ts";
import { bodyOf, bodyOfDefault, policyFields, policyValues } from "./policy-fields.tsx";

const path = "/tenants/policies/{id}";

export function PolicyPage() {
  const { id = "" } = useParams({ strict: false });
  const { data, error, refetch } = useRecord(path, id);
  const policy = data?.record;
  return (
    <RecordPage
      list={{ to: "/policies", title: t("policies.title") }}
      title={policy?.name}
      status={
        policy && (
          <Status tone={policy.active ? "good" : "idle"}>
            {policy.active ? t("records.status.active") : t("records.status.inactive")}
          </Status>
        )
      }
      actions={data && <Actions policy={data.record} etag={data.etag} />}
      graph={policy?.active ? `/access?view=graph&type=${policy.type}&focus=policy:${policy.id}` : undefined}
      // A changed condition changes what the policy allows.
      historyOf={policy?.rule && [policy.rule.id]}
      error={error}
      retry={refetch}
    >
      {policy && <About policy={policy} />}
    </RecordPage>
  );
}

/**
 * The position of the policy in the policy chain. Undefined for a default policy, and if the tenant has too many
 * policies to read at once.
 */
function usePosition({ id, type }: Policy): string | undefined {
  const { policies = [], isWhole } = usePolicies(type, false);
  const ordered = policies.filter(({ isDefault }) => !isDefault);
  const index = ordered.findIndex((each) => each.id === id);
  return isWhole && index >= 0 ? t("policies.positionOf", { place: index + 1, total: ordered.length }) : undefined;
}

function About({ policy }: { readonly policy: Policy }) {
  const position = usePosition(policy);
  const { type, mode, action, description, rule, sourceIps, gateways, createdAt } = policy;
  return (
    <>
      <Panel title={t("common.about")}>
        <Facts
          facts={[
            {
              label: t("policies.action"),
              value: <PolicyAction allows={action} />,
            },
            ...(position === undefined ? [] : [{ label: t("policies.position"), value: position }]),
            { label: t("policies.accessType"), value: policyTypes.find(({ value }) => value === type)?.label },
            ...(mode === undefined
              ? []
              : [{ label: t("policies.fields.mode"), value: modes.find(({ value }) => value === mode)?.label }]),
            { label: t("common.description"), value: description },
            { label: t("common.created"), value: <RelativeTime at={createdAt} /> },
            { label: t("common.changed"), value: <LastChanged record={policy} /> },
          ]}
        />
      </Panel>
      <Panel title={t("policies.scope.title")}>
        <Facts
          facts={[
            { label: t("policies.scope.subjects"), value: <Subjects policy={policy} /> },
            {
              label: t("policies.scope.resources"),
              value: policy.allResources ? (
                t("policies.fields.allResources")
              ) : (
                <RecordLinks
                  path="resources"
                  records={policy.resources}
                  none={type === "INTERNET" ? t("policies.scope.theInternet") : t("policies.scope.noResources")}
                />
              ),
            },
            {
              label: t("policies.scope.sourceIps"),
              value: sourceIps.length === 0 ? t("policies.scope.anyAddress") : sourceIps.join(", "),
            },
            {
              label: t("policies.fields.rule"),
              value:
                rule.type === "CUSTOM" ? (
                  <Stack gap={4}>
                    <RecordLink to={`/admission-rules/${rule.id}`}>{rule.name}</RecordLink>
                    <RuleReading text={rule.rule ?? ""} reading={formatRule(rule.rule ?? "")} />
                  </Stack>
                ) : rule.type === "ALLOW" ? (
                  t("policies.rule.always")
                ) : (
                  t("policies.rule.never")
                ),
            },
            {
              label: t("policies.scope.gateways"),
              value:
                gateways.length === 0 ? (
                  t("policies.scope.anyGateway")
                ) : (
                  <RecordLinks path="gateways" records={gateways} />
                ),
            },
          ]}
        />
      </Panel>
    </>
  );
}

function Subjects({ policy }: { readonly policy: Policy }) {
  const { type, users, groups, devices } = policy;
  if (type === "SITETOSITE") return t("policies.scope.anySite");
  const words = formatAllOf(policy).join(", ");
  if (words === "" && users.length + groups.length + devices.length === 0) return t("policies.scope.noSubjects");
  return (
    <Stack gap={4}>
      {words !== "" && <Text>{words}</Text>}
      {groups.length > 0 && (
        <div>
          <RichText
            message="policies.scope.groups"
            elements={{ records: <RecordLinks path="groups" records={groups} /> }}
          />
        </div>
      )}
      {users.length > 0 && (
        <div>
          <RichText
            message="policies.scope.users"
            elements={{
              records: <RecordLinks path="users" records={users.map(({ id, email }) => ({ id, name: email ?? id }))} />,
            }}
          />
        </div>
      )}
      {devices.length > 0 && (
        <div>
          <RichText
            message="policies.scope.devices"
            elements={{ records: <RecordLinks path="devices" records={devices} /> }}
          />
        </div>
      )}
    </Stack>
  );
}

function Actions({ policy, etag }: { readonly policy: Policy; readonly etag: string }) {
  const canWrite = usePermission("policies:write");
  const navigate = useNavigate();
  const [editing, { open, close }] = useEditing();
  if (!canWrite) return null;
  const { id, name, type, active, isDefault } = policy;
  const bodyFor = isDefault ? bodyOfDefault : (values: Parameters<typeof bodyOf>[1]) => bodyOf(type, values);
  const at = `/tenants/policies/${id}`;
  return (
    <Group gap="xs">
      {!isDefault && (
        <>
          {active ? (
            <ReviewedButton
              key="deactivate"
              action="deactivate"
              label={t("policies.deactivate")}
              title={t("policies.deactivateTitle", { name })}
              changes={[{ method: "PATCH", path: `${at}/deactivate` }]}
              etag={etag}
            />
          ) : (
            <ReviewedButton
              key="reactivate"
              label={t("policies.reactivate")}
              title={t("policies.reactivateTitle", { name })}
              changes={[{ method: "POST", path: `${at}/reactivate` }]}
              etag={etag}
            />
          )}
          <MoreActions>
            <DeleteRecord
              title={t("policies.delete.title", { name })}
              effect={t("policies.delete.note")}
              path={at}
              etag={etag}
              done={() => void navigate({ to: "/policies", search: { type } })}
            />
          </MoreActions>
        </>
      )}
      <Button onClick={open}>{t("common.edit")}</Button>
      {editing && (
        <RecordForm
          title={t("policies.edit", { name })}
          fields={policyFields(type, policy)}
          initial={policyValues(policy)}
          submitLabel={t("common.save")}
          plan={(values) => [{ method: "PATCH", path: at, body: bodyFor(values) }]}
          close={close}
          edits={{
            etag,
            reload: async () => {
              const stored = await readRecord(path, id);
              return { values: policyValues(stored.record), etag: stored.etag };
            },
          }}
        />
      )}
    </Group>
  );
}
