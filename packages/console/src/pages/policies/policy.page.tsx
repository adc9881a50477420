import { Button, Group, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useNavigate, useParams } from "@tanstack/react-router";
import { useState } from "react";
import { usePermission } from "../../app/session.ts";
import { RecordForm } from "../../records/record-form.tsx";
import { RecordLink, RecordLinks } from "../../records/record-link.tsx";
import { Facts, Panel, RecordPage } from "../../records/record-page.tsx";
import { RelativeTime } from "../../records/relative-time.tsx";
import { ReviewDialog } from "../../records/reviewed-change.tsx";
import { RuleReading } from "../../records/rule-reading.tsx";
import { Status } from "../../records/status.tsx";
import { readRecord, useRecord } from "../../records/use-record.ts";
import { formatRule } from "../admission-rules/format-condition.ts";
import { modes, type Policy, policyTypes } from "./format-policy.ts";
import { bodyOf, bodyOfDefault, policyFields, policyValues } from "./policy-fields.tsx";

const path = "/tenants/policies/{id}";

export function PolicyPage() {
  const { id = "" } = useParams({ strict: false });
  const { data, error, refetch } = useRecord(path, id);
  const policy = data?.record;
  return (
    <RecordPage
      list={{ to: "/policies", title: "Policies" }}
      title={policy?.name}
      status={policy && <Status tone={policy.active ? "good" : "idle"}>{policy.active ? "Active" : "Inactive"}</Status>}
      actions={data && <Actions policy={data.record} etag={data.etag} />}
      graph={policy?.active ? `/access?view=graph&type=${policy.type}&focus=policy:${policy.id}` : undefined}
      error={error}
      retry={refetch}
    >
      {policy && <About policy={policy} />}
    </RecordPage>
  );
}

function About({ policy }: { readonly policy: Policy }) {
  const { type, mode, action, description, rule, sourceIps, gateways, updatedAt } = policy;
  return (
    <>
      <Panel title="About">
        <Facts
          facts={[
            {
              label: "Decision",
              value: <Status tone={action ? "good" : "bad"}>{action ? "Allow" : "Deny"}</Status>,
            },
            { label: "Access type", value: policyTypes.find(({ value }) => value === type)?.label },
            ...(mode === undefined
              ? []
              : [{ label: "Internet traffic goes", value: modes.find(({ value }) => value === mode)?.label }]),
            { label: "Description", value: description },
            { label: "Changed", value: <RelativeTime at={updatedAt} /> },
          ]}
        />
      </Panel>
      <Panel title="Who, what, and when">
        <Facts
          facts={[
            { label: "Who", value: <Who policy={policy} /> },
            {
              label: "What",
              value: policy.allResources ? (
                "All resources"
              ) : (
                <RecordLinks
                  path="resources"
                  records={policy.resources}
                  none={type === "INTERNET" ? "The internet" : "Nothing"}
                />
              ),
            },
            { label: "From", value: sourceIps.length === 0 ? "Any address" : sourceIps.join(", ") },
            {
              label: "If",
              value:
                rule.type === "CUSTOM" ? (
                  <Stack gap={4}>
                    <RecordLink to={`/admission-rules/${rule.id}`}>{rule.name}</RecordLink>
                    <RuleReading text={rule.rule ?? ""} reading={formatRule(rule.rule ?? "")} />
                  </Stack>
                ) : rule.type === "ALLOW" ? (
                  "Always"
                ) : (
                  "Never"
                ),
            },
            {
              label: "Through",
              value: <RecordLinks path="gateways" records={gateways} none="Any gateway of the resource" />,
            },
          ]}
        />
      </Panel>
    </>
  );
}

function Who({ policy }: { readonly policy: Policy }) {
  const { type, allUsers, allGroups, allDevices, users, groups, devices } = policy;
  if (type === "SITETOSITE") return "Any site";
  const all = [allUsers && "All users", allGroups && "Members of any group", allDevices && "All devices"];
  const words = all.filter((text) => text !== false).join(", ");
  if (words === "" && users.length + groups.length + devices.length === 0) return "Nobody";
  return (
    <Stack gap={4}>
      {words !== "" && <Text>{words}</Text>}
      {groups.length > 0 && (
        <div>
          Groups: <RecordLinks path="groups" records={groups} />
        </div>
      )}
      {users.length > 0 && (
        <div>
          Users: <RecordLinks path="users" records={users.map(({ id, email }) => ({ id, name: email ?? id }))} />
        </div>
      )}
      {devices.length > 0 && (
        <div>
          Devices: <RecordLinks path="devices" records={devices} />
        </div>
      )}
    </Stack>
  );
}

function Actions({ policy, etag }: { readonly policy: Policy; readonly etag: string }) {
  const canWrite = usePermission("policies:write");
  const navigate = useNavigate();
  const [editing, { open, close }] = useDisclosure(false);
  const [asked, setAsked] = useState<"delete" | "deactivate" | "reactivate">();
  if (!canWrite) return null;
  const { id, name, type, active, isDefault } = policy;
  const bodyFor = isDefault ? bodyOfDefault : (values: Parameters<typeof bodyOf>[1]) => bodyOf(type, values);
  const end = () => setAsked(undefined);
  const at = `/tenants/policies/${id}`;
  return (
    <Group gap="xs">
      {!isDefault && (
        <>
          <Button variant="default" onClick={() => setAsked("delete")}>
            Delete
          </Button>
          <Button variant="default" onClick={() => setAsked(active ? "deactivate" : "reactivate")}>
            {active ? "Deactivate" : "Reactivate"}
          </Button>
        </>
      )}
      <Button onClick={open}>Edit</Button>
      {asked === "delete" && (
        <ReviewDialog
          title={`Delete policy ${name}?`}
          note="Those after it decide in its place. Made anew from its event, it would have another id."
          changes={[{ method: "DELETE", path: at }]}
          etag={etag}
          label="Delete"
          danger
          leaves
          close={end}
          done={() => void navigate({ to: "/policies", search: { type } })}
        />
      )}
      {asked === "deactivate" && (
        <ReviewDialog
          title={`Deactivate policy ${name}?`}
          changes={[{ method: "PATCH", path: `${at}/deactivate` }]}
          etag={etag}
          label="Deactivate"
          close={end}
        />
      )}
      {asked === "reactivate" && (
        <ReviewDialog
          title={`Reactivate policy ${name}?`}
          changes={[{ method: "POST", path: `${at}/reactivate` }]}
          etag={etag}
          label="Reactivate"
          close={end}
        />
      )}
      {editing && (
        <RecordForm
          title={`Edit ${name}`}
          fields={policyFields(type, policy)}
          initial={policyValues(policy)}
          submitLabel="Save"
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
