import { Button, Stack, Table, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useNavigate, useParams } from "@tanstack/react-router";
import { Play } from "lucide-react";
import { ProblemNotice } from "../../app/problem-notice.tsx";
import { usePermission } from "../../app/session.ts";
import { DeleteRecord } from "../../records/delete-record.tsx";
import { RecordForm } from "../../records/record-form.tsx";
import { RecordLink } from "../../records/record-link.tsx";
import { Facts, Panel, RecordPage } from "../../records/record-page.tsx";
import { RelativeTime } from "../../records/relative-time.tsx";
import { readRecord, useRecord } from "../../records/use-record.ts";
import { type AccessTest, type AccessTestState, formatTest, levels } from "./format-test.ts";
import { bodyOf, testFields, testValues } from "./test-fields.tsx";
import { StateOf, useTestReport } from "./test-state.tsx";

const path = "/tenants/access-tests/{id}";

export function AccessTestPage() {
  const { id = "" } = useParams({ strict: false });
  const { data, error, refetch } = useRecord(path, id);
  const report = useTestReport();
  const test = data?.record;
  const state = report.data?.tests.find((each) => each.id === id)?.state;
  return (
    <RecordPage
      list={{ to: "/access-tests", title: "Access tests" }}
      title={test?.name}
      status={state && <StateOf state={state} />}
      actions={
        <>
          {data && <Actions test={data.record} etag={data.etag} />}
          {report.canRead && (
            <Button
              variant="default"
              leftSection={<Play size={16} aria-hidden />}
              loading={report.isFetching}
              onClick={() => void report.refetch()}
            >
              Run
            </Button>
          )}
        </>
      }
      error={error}
      retry={refetch}
    >
      {test && (
        <Panel title="About">
          <Facts
            facts={[
              { label: "Says", value: formatTest(test) },
              { label: "Enforced", value: test.enforced ? "Yes: changes that would break it are refused" : "No" },
              { label: "Description", value: test.description },
              { label: "Changed", value: <RelativeTime at={test.updatedAt} /> },
            ]}
          />
        </Panel>
      )}
      {report.error !== null && <ProblemNotice error={report.error} retry={report.refetch} />}
      {test && state && <Result test={test} state={state} />}
    </RecordPage>
  );
}

function Result({ test, state }: { readonly test: AccessTest; readonly state: AccessTestState }) {
  const { asked, holds, missing, broken, brokenCount } = state;
  return (
    <Panel title="How it stands">
      <Stack gap="sm">
        <Text>
          {missing !== undefined
            ? `The ${missing} that it names was deleted, so it asks nothing. It has to name another, or go.`
            : holds
              ? `It holds, for each of the ${asked} that it asks about.`
              : `It does not hold for ${brokenCount} of the ${asked} that it asks about.`}
        </Text>
        {broken.length > 0 && (
          <Table className="record-table" aria-label="For whom it does not hold">
            <Table.Thead>
              <Table.Tr>
                <Table.Th>User</Table.Th>
                <Table.Th>Device</Table.Th>
                <Table.Th>Reaches it</Table.Th>
                <Table.Th>By policy</Table.Th>
                <Table.Th visibleFrom="sm">Why</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {broken.map(({ user, device, level, policy }) => (
                <Table.Tr key={`${user.id} ${device?.id ?? ""}`}>
                  <Table.Td>
                    <RecordLink to={`/users/${user.id}`}>{user.name}</RecordLink>
                  </Table.Td>
                  <Table.Td>{device === undefined ? "without" : device.name}</Table.Td>
                  <Table.Td>{levels[level]}</Table.Td>
                  <Table.Td>
                    {policy === undefined ? (
                      "none"
                    ) : (
                      <RecordLink to={`/policies/${policy.id}`}>{policy.name}</RecordLink>
                    )}
                  </Table.Td>
                  <Table.Td visibleFrom="sm">
                    {test.resource.type === "resource" && (
                      <RecordLink
                        to={`/access?view=can&user=${user.id}&device=${device?.id ?? ""}&resource=${test.resource.id}`}
                      >
                        Explain
                      </RecordLink>
                    )}
                  </Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        )}
        {brokenCount > broken.length && <Text c="dimmed">{brokenCount - broken.length} more are not shown.</Text>}
      </Stack>
    </Panel>
  );
}

function Actions({ test, etag }: { readonly test: AccessTest; readonly etag: string }) {
  const canWrite = usePermission("access-tests:write");
  const navigate = useNavigate();
  const [editing, { open, close }] = useDisclosure(false);
  if (!canWrite) return null;
  return (
    <>
      <DeleteRecord
        title={`Delete access test ${test.name}?`}
        effect="Nothing watches over this any more. Nobody's access changes. Made anew from its event, it would have another id."
        path={`/tenants/access-tests/${test.id}`}
        etag={etag}
        changesAccess={false}
        done={() => void navigate({ to: "/access-tests" })}
      />
      <Button onClick={open}>Edit</Button>
      {editing && (
        <RecordForm
          title={`Edit ${test.name}`}
          fields={testFields}
          initial={testValues(test)}
          submitLabel="Save"
          plan={(values) => [{ method: "PUT", path: `/tenants/access-tests/${test.id}`, body: bodyOf(values) }]}
          changesAccess={false}
          close={close}
          edits={{
            etag,
            reload: async () => {
              const stored = await readRecord(path, test.id);
              return { values: testValues(stored.record), etag: stored.etag };
            },
          }}
        />
      )}
    </>
  );
}
