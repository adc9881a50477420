import { Button, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useParams } from "@tanstack/react-router";
import { paged } from "../../app/api.ts";
import { usePermission } from "../../app/session.ts";
import { DeleteRecord } from "../../records/delete-record.tsx";
import { RecordForm } from "../../records/record-form.tsx";
import { RecordLinks } from "../../records/record-link.tsx";
import { Facts, Panel, RecordPage } from "../../records/record-page.tsx";
import { RelativeTime } from "../../records/relative-time.tsx";
import { RuleReading } from "../../records/rule-reading.tsx";
import { readRecord, useRecord } from "../../records/use-record.ts";
import { formatRule } from "./format-condition.ts";
import { bodyOf, type Rule, ruleFields, ruleValues } from "./rule-fields.tsx";

const path = "/tenants/admission-rules/{id}";
const policies = paged("/tenants/policies");

export function AdmissionRulePage() {
  const { id = "" } = useParams({ strict: false });
  const { data, error, refetch } = useRecord(path, id);
  const rule = data?.record;
  return (
    <RecordPage
      list={{ to: "/admission-rules", title: "Admission rules" }}
      title={rule?.name}
      actions={data && <Actions rule={data.record} etag={data.etag} />}
      error={error}
      retry={refetch}
    >
      {rule && (
        <>
          <Panel title="About">
            <Facts
              facts={[
                {
                  label: "Rule",
                  value:
                    rule.rule === undefined ? (
                      `Built in: ${rule.type.toLowerCase()}`
                    ) : (
                      <RuleReading text={rule.rule} reading={formatRule(rule.rule)} />
                    ),
                },
                { label: "Asks the time", value: rule.hasTimeConstraint ? "Yes" : "No" },
                { label: "Changed", value: <RelativeTime at={rule.updatedAt} /> },
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
    <Panel title={`Policies (${data.total})`}>
      {data.total === 0 ? (
        <Text c="dimmed">No policy carries this rule yet.</Text>
      ) : (
        <>
          <RecordLinks path="policies" records={data.data} />
          {data.total > data.data.length && ` and ${data.total - data.data.length} more`}
        </>
      )}
    </Panel>
  );
}

function Actions({ rule, etag }: { readonly rule: Rule; readonly etag: string }) {
  const canWrite = usePermission("admission-rules:write");
  const navigate = useNavigate();
  const [editing, { open, close }] = useDisclosure(false);
  const at = `/tenants/admission-rules/${rule.id}`;
  if (!canWrite || rule.type !== "CUSTOM") return null;
  return (
    <>
      <DeleteRecord
        title={`Delete admission rule ${rule.name}?`}
        effect="Policies that carry it keep it from being deleted; give them another rule first. Made anew from its event, it would have another id."
        path={at}
        etag={etag}
        done={() => void navigate({ to: "/admission-rules" })}
      />
      <Button onClick={open}>Edit</Button>
      {editing && (
        <RecordForm
          title={`Edit ${rule.name}`}
          fields={ruleFields}
          initial={ruleValues(rule)}
          submitLabel="Save"
          plan={async (values) => [{ method: "PUT", path: at, body: await bodyOf(values) }]}
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
