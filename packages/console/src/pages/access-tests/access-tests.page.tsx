import { Button, Text } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { paged } from "../../app/api.ts";
import { nameColumn } from "../../lists/columns.tsx";
import type { ListDefinition } from "../../lists/list-definition.ts";
import { RecordList } from "../../lists/record-list.tsx";
import { t } from "../../messages/i18n.ts";
import { NewButton } from "../../records/new-button.tsx";
import { idIn, RecordForm } from "../../records/record-form.tsx";
import { WholeWords } from "../../records/whole-words.tsx";
import { type AccessTest, formatTest } from "./format-test.ts";
import { bodyOf, newTest, testFields } from "./test-fields.tsx";
import { TestState, useTestReport } from "./test-state.tsx";

const definition: ListDefinition<AccessTest> = {
  source: paged("/tenants/access-tests"),
  noun: t("accessTests.noun"),
  search: { label: t("common.name"), by: "name" },
  defaultSort: "name",
  columns: [
    nameColumn("access-tests", "paged"),
    { key: "state", title: t("accessTests.state.label"), cell: ({ id }) => <TestState id={id} /> },
    {
      key: "expectation",
      title: t("accessTests.expected.label"),
      visibleFrom: "md",
      isBelow: true,
      cell: (test) => <WholeWords text={formatTest(test)} />,
    },
    {
      key: "enforced",
      title: t("accessTests.fields.enforced"),
      isBelow: true,
      cell: ({ enforced }) => (enforced ? t("common.yes") : t("common.no")),
    },
  ],
  filters: [
    {
      field: "enforced",
      title: t("accessTests.fields.enforced"),
      options: [
        { value: "true", label: t("accessTests.filter.enforced") },
        { value: "false", label: t("accessTests.filter.reported") },
      ],
    },
    {
      field: "expected",
      title: t("accessTests.expected.label"),
      options: [
        { value: "denied", label: t("accessTests.expected.denied") },
        { value: "allowed", label: t("accessTests.expected.allowed") },
      ],
    },
  ],
  empty: {
    title: t("accessTests.empty.title"),
    text: t("accessTests.empty.text"),
    action: { label: t("accessTests.create"), to: "/access-tests?new=1", permission: "access-tests:write" },
    guide: "access#access-tests",
  },
};

export function AccessTestsListPage() {
  const navigate = useNavigate();
  return (
    <RecordList
      title={t("accessTests.title")}
      definition={definition}
      actions={
        <>
          <RunAll />
          <NewButton
            label={t("accessTests.create")}
            permission="access-tests:write"
            dialog={(close) => (
              <RecordForm
                title={t("accessTests.create")}
                fields={testFields}
                initial={newTest}
                submitLabel={t("common.create")}
                plan={(values) => [{ method: "POST", path: "/tenants/access-tests", body: bodyOf(values) }]}
                changesAccess={false}
                saved={(answer) => void navigate({ to: `/access-tests/${idIn(answer)}` })}
                close={close}
              />
            )}
          />
        </>
      }
    />
  );
}

function RunAll() {
  const { canRead, data, refetch, isFetching } = useTestReport();
  if (!canRead || data?.tests.length === 0) return null;
  const { holding: passing = 0, broken: failing = 0, missing = 0 } = data?.summary ?? {};
  return (
    <>
      <Text size="sm" aria-live="polite" w={{ base: "100%", xs: "auto" }}>
        {data !== undefined &&
          (missing === 0
            ? t("accessTests.summary", { passing, failing })
            : t("accessTests.summaryMissing", { passing, failing, missing }))}
      </Text>
      <Button variant="default" loading={isFetching} onClick={() => void refetch()}>
        {t("accessTests.runAll")}
      </Button>
    </>
  );
}
