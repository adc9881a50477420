import { Button, Group, SegmentedControl, Skeleton, Stack, Text, TextInput, Title } from "@mantine/core";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { Search } from "lucide-react";
import { useEffect, useMemo, useState } from "react";
import { ProblemNotice } from "../../app/problem-notice.tsx";
import { ListOptions } from "../../lists/list-options.tsx";
import { useListPreferences } from "../../lists/list-preferences.ts";
import { t } from "../../messages/i18n.ts";
import { usePolicies } from "../../records/all-policies.ts";
import { EmptyState } from "../../records/empty-list.tsx";
import { NewButton } from "../../records/new-button.tsx";
import { idIn, RecordForm } from "../../records/record-form.tsx";
import { type PolicyType, policyTypes } from "./format-policy.ts";
import { bodyOf, newPolicy, policyFields } from "./policy-fields.tsx";
import { policyList } from "./policy-list.tsx";
import { PolicyOrder } from "./policy-order.tsx";

export function PoliciesListPage() {
  const search = useSearch({ strict: false }) as Readonly<Record<string, string>>; // the router reads texts
  const navigate = useNavigate();
  const type = policyTypes.find(({ value }) => value === search.type) ?? policyTypes[0];
  const { value } = type;
  const definition = useMemo(() => policyList(type), [type]);
  const [preferences, changePreferences] = useListPreferences(definition.source.path);
  const text = search.q ?? "";
  const change = (next: Record<string, string | undefined>, replace = false) =>
    void navigate({ to: ".", search: { ...search, ...next }, replace, resetScroll: false });
  // A tenant can have thousands of policies, so load all of them only on demand. They stay after a search.
  const [typeOfAll, setTypeOfAll] = useState<PolicyType>();
  if (text !== "" && typeOfAll !== value) setTypeOfAll(value);
  const wantsAll = typeOfAll === value;
  const { policies: data, total, isWhole, error, refetch } = usePolicies(value, wantsAll);
  const isEmpty = data?.length === 0;
  useEffect(() => {
    document.title = t("common.documentTitle", { title: t("policies.title") });
  }, []);
  return (
    <Stack>
      <Group justify="space-between" className="page-head">
        <Title order={1}>{t("policies.title")}</Title>
        <Group gap="xs" className="actions" {...(isEmpty ? { "data-empty": true } : {})}>
          <NewButton
            label={t("policies.create")}
            permission="policies:write"
            dialog={(close) => (
              <RecordForm
                title={t(`policies.createTitles.${value}`)}
                intro={t("policies.typeFixed")}
                fields={policyFields(value)}
                initial={newPolicy}
                submitLabel={t("common.create")}
                plan={(values) => [
                  { method: "POST", path: "/tenants/policies", body: { ...bodyOf(value, values), type: value } },
                ]}
                saved={(answer) => void navigate({ to: `/policies/${idIn(answer)}` })}
                close={close}
              />
            )}
          />
        </Group>
      </Group>
      <Group gap="sm">
        <SegmentedControl
          aria-label={t("policies.accessType")}
          value={value}
          onChange={(next) => change({ type: next, q: undefined })}
          data={policyTypes.map(({ value: each, label }) => ({ value: each, label }))}
        />
        {!isEmpty && (
          <>
            <TextInput
              type="search"
              aria-label={t("lists.searchBy", { field: t("common.name").toLowerCase() })}
              placeholder={t("lists.searchBy", { field: t("common.name").toLowerCase() })}
              leftSection={<Search size={16} aria-hidden />}
              value={text}
              onChange={({ currentTarget }) => change({ q: currentTarget.value }, true)}
              w={{ xs: 260 }}
              flex={{ base: "1 1 60%", xs: "none" }}
            />
            <Group ms="auto">
              <ListOptions
                definition={definition}
                state={{ text, sort: "order", page: 1, size: preferences.size, filters: { type: value } }}
                preferences={preferences}
                change={changePreferences}
                isOnePage
              />
            </Group>
          </>
        )}
      </Group>
      {!isEmpty && (
        <Text c="dimmed" size="sm">
          {t("policies.evaluation")}
          {/* The default policy matches every other internet destination. */}
          {value !== "INTERNET" && ` ${t("policies.evaluationDenied")}`}
        </Text>
      )}
      {error !== null ? (
        <ProblemNotice error={error} retry={refetch} />
      ) : data === undefined ? (
        <Stack aria-busy gap="xs">
          {[1, 2, 3, 4, 5].map((line) => (
            <Skeleton key={line} height={36} />
          ))}
        </Stack>
      ) : isEmpty ? (
        <EmptyState empty={definition.empty} kind="policies" />
      ) : (
        <>
          {!isWhole && (
            <Group gap="sm">
              <Text size="sm" role="status" aria-busy={wantsAll}>
                {t(wantsAll ? "policies.loadingRest" : "policies.firstOnly", {
                  count: data.length,
                  total: total ?? data.length,
                })}
              </Text>
              {!wantsAll && (
                <Button variant="default" size="xs" onClick={() => setTypeOfAll(value)}>
                  {t("policies.loadAll")}
                </Button>
              )}
            </Group>
          )}
          <PolicyOrder
            key={value}
            type={value}
            policies={data}
            text={text}
            isWhole={isWhole}
            preferences={preferences}
            reload={refetch}
            reachEnd={() => setTypeOfAll(value)}
          />
        </>
      )}
      {text !== "" && (
        <Group>
          <Button variant="default" size="xs" onClick={() => change({ q: undefined })}>
            {t("policies.showAll")}
          </Button>
        </Group>
      )}
    </Stack>
  );
}
