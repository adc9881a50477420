import { Button, Text } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { Play } from "lucide-react";
import { paged } from "../../app/api.ts";
import { nameColumn } from "../../lists/columns.tsx";
import type { ListDefinition } from "../../lists/list-definition.ts";
import { RecordList } from "../../lists/record-list.tsx";
import { NewButton } from "../../records/new-button.tsx";
import { idIn, RecordForm } from "../../records/record-form.tsx";
import { type AccessTest, formatTest } from "./format-test.ts";
import { bodyOf, newTest, testFields } from "./test-fields.tsx";
import { TestState, useTestReport } from "./test-state.tsx";

const definition: ListDefinition<AccessTest> = {
  source: paged("/tenants/access-tests"),
  noun: "access tests",
  search: { label: "Name", by: "name" },
  defaultSort: "name",
  columns: [
    nameColumn("access-tests", "paged"),
    { key: "state", title: "State", cell: ({ id }) => <TestState id={id} /> },
    { key: "says", title: "Says", visibleFrom: "md", cell: (test) => formatTest(test) },
    { key: "enforced", title: "Enforced", visibleFrom: "sm", cell: ({ enforced }) => (enforced ? "Yes" : "No") },
  ],
  filters: [
    {
      field: "enforced",
      title: "Enforced",
      options: [
        { value: "true", label: "Enforced" },
        { value: "false", label: "Reported only" },
      ],
    },
    {
      field: "expected",
      title: "Expected",
      options: [
        { value: "denied", label: "Never reach" },
        { value: "allowed", label: "Always reach" },
      ],
    },
  ],
  empty: {
    title: "No access tests yet",
    text: "A test says what has to stay so, such as that contractors never reach Payroll, whatever anybody changes.",
  },
};

export function AccessTestsListPage() {
  const navigate = useNavigate();
  return (
    <RecordList
      title="Access tests"
      definition={definition}
      actions={
        <>
          <Run />
          <NewButton
            label="Create a test"
            permission="access-tests:write"
            dialog={(close) => (
              <RecordForm
                title="Create an access test"
                fields={testFields}
                initial={newTest}
                submitLabel="Create"
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

function Run() {
  const { canRead, data, refetch, isFetching } = useTestReport();
  if (!canRead || data?.tests.length === 0) return null;
  const { holding, broken, missing } = data?.summary ?? { holding: 0, broken: 0, missing: 0 };
  return (
    <>
      <Text size="sm" aria-live="polite">
        {data === undefined
          ? ""
          : `${holding} hold, ${broken} broken${missing === 0 ? "" : `, ${missing} ask nothing`}`}
      </Text>
      <Button
        variant="default"
        leftSection={<Play size={16} aria-hidden />}
        loading={isFetching}
        onClick={() => void refetch()}
      >
        Run all
      </Button>
    </>
  );
}
