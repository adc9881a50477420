import { Button, Stack, Table, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useNavigate, useParams } from "@tanstack/react-router";
import { ProblemNotice } from "../../app/problem-notice.tsx";
import { usePermission } from "../../app/session.ts";
import { t } from "../../messages/i18n.ts";
import { DeleteRecord } from "../../records/delete-record.tsx";
import { LastChanged } from "../../records/last-changed.tsx";
import { MoreActions } from "../../records/more-actions.tsx";
import { RecordForm } from "../../records/record-form.tsx";
import { RecordLink } from "../../records/record-link.tsx";
import { Facts, Panel, RecordPage } from "../../records/record-page.tsx";
import { RelativeTime } from "../../records/relative-time.tsx";
import { readRecord, useRecord } from "../../records/use-record.ts";
import { type AccessTest, type AccessTestState, formatTest } from "./format-test.ts";
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
      list={{ to: "/access-tests", title: t("accessTests.title") }}
      title={test?.name}
      status={state && <StateOf state={state} />}
      actions={
        <>
          {report.canRead && (
            <Button variant="default" loading={report.isFetching} onClick={() => void report.refetch()}>
              {t("accessTests.run")}
            </Button>
          )}
          {data && <Actions test={data.record} etag={data.etag} />}
        </>
      }
      error={error}
      retry={refetch}
    >
      {test && (
        <Panel title={t("common.about")}>
          <Facts
            facts={[
              { label: t("accessTests.expected.label"), value: formatTest(test) },
              {
                label: t("accessTests.fields.enforced"),
                value: test.enforced ? t("accessTests.fields.enforcedYes") : t("common.no"),
              },
              { label: t("common.description"), value: test.description },
              { label: t("common.created"), value: <RelativeTime at={test.createdAt} /> },
              { label: t("common.changed"), value: <LastChanged record={test} /> },
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
    <Panel title={t("accessTests.result.title")}>
      <Stack gap="sm">
        <Text>
          {missing !== undefined
            ? t("accessTests.missingHelp", { missing: t(`accessTests.missing.${missing}`) })
            : holds
              ? t("accessTests.result.passes", { count: asked })
              : t("accessTests.result.fails", { failed: brokenCount, count: asked })}
        </Text>
        {broken.length > 0 && (
          <Table.ScrollContainer
            minWidth={0}
            type="native"
            tabIndex={0}
            role="group"
            aria-label={t("accessTests.result.table")}
          >
            <Table className="record-table stacks" aria-label={t("accessTests.result.table")}>
              <Table.Thead>
                <Table.Tr>
                  <Table.Th>{t("accessTests.subjects.user")}</Table.Th>
                  <Table.Th>{t("accessTests.subjects.device")}</Table.Th>
                  <Table.Th>{t("accessTests.result.level")}</Table.Th>
                  <Table.Th>{t("accessTests.result.byPolicy")}</Table.Th>
                  <Table.Th>{t("accessTests.result.explanation")}</Table.Th>
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {broken.map(({ user, device, level, policy }) => (
                  <Table.Tr key={`${user.id} ${device?.id ?? ""}`}>
                    <Table.Td>
                      <RecordLink to={`/users/${user.id}`}>{user.name}</RecordLink>
                    </Table.Td>
                    <Table.Td data-label={t("accessTests.subjects.device")}>
                      {device === undefined ? t("accessTests.result.withoutDevice") : device.name}
                    </Table.Td>
                    <Table.Td data-label={t("accessTests.result.level")}>{t(`accessTests.levels.${level}`)}</Table.Td>
                    <Table.Td data-label={t("accessTests.result.byPolicy")}>
                      {policy === undefined ? (
                        t("common.none")
                      ) : (
                        <RecordLink to={`/policies/${policy.id}`}>{policy.name}</RecordLink>
                      )}
                    </Table.Td>
                    <Table.Td>
                      {test.resource.type === "resource" && (
                        <RecordLink
                          to={`/access?view=can&user=${user.id}&device=${device?.id ?? ""}&resource=${test.resource.id}`}
                          inText
                        >
                          {t("accessTests.result.explain")}
                        </RecordLink>
                      )}
                    </Table.Td>
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </Table>
          </Table.ScrollContainer>
        )}
        {brokenCount > broken.length && (
          <Text c="dimmed">{t("accessTests.result.more", { count: brokenCount - broken.length })}</Text>
        )}
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
      <MoreActions>
        <DeleteRecord
          title={t("accessTests.delete.title", { name: test.name })}
          effect={t("accessTests.delete.effect")}
          path={`/tenants/access-tests/${test.id}`}
          etag={etag}
          changesAccess={false}
          done={() => void navigate({ to: "/access-tests" })}
        />
      </MoreActions>
      <Button onClick={open}>{t("common.edit")}</Button>
      {editing && (
        <RecordForm
          title={t("accessTests.edit", { name: test.name })}
          fields={testFields}
          initial={testValues(test)}
          submitLabel={t("common.save")}
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
