/** The form that gives people access to an existing resource: a policy, and the admission rule of its conditions. */
import { Button, Group, Stack } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type FormEvent, useEffect, useRef, useState } from "react";
import { paged } from "../../app/api.ts";
import { ProblemNotice } from "../../app/problem-notice.tsx";
import { t } from "../../messages/i18n.ts";
import { type PlannedChange, sendChanges } from "../../records/planned-change.ts";
import { nameChosen } from "../../records/record-picker.tsx";
import { RecordSelect } from "../../records/record-select.tsx";
import { isBlocked, ReviewedChange } from "../../records/reviewed-change.tsx";
import { DiscardNotice, useUnsaved } from "../../records/unsaved.tsx";
import { AccessFields, noAccess, PlainPart } from "./access-fields.tsx";
import { AccessSummary } from "./access-summary.tsx";
import { findFreeName, policyChanges } from "./publish-changes.ts";

const resources = paged("/tenants/resources");

export function AccessForm({ done }: { readonly done: () => void }) {
  const [access, setAccess] = useState(noAccess);
  const [chosen, setChosen] = useState<string>();
  const [problems, setProblems] = useState<Partial<Record<"resource" | "who", string>>>({});
  const [reviewed, setReviewed] = useState<{ readonly name: string; readonly changes: readonly PlannedChange[] }>();
  const [error, setError] = useState<unknown>();
  const form = useRef<HTMLFormElement>(null);
  const unsaved = useUnsaved(access !== noAccess);
  const { data: newest } = useQuery({
    queryKey: [resources.path, "newest"],
    queryFn: async ({ signal }) => {
      const { data } = await resources.read({ "filter[type]": "PRIVATE", sort: "-id", limit: 1 }, signal);
      return data[0]?.id ?? "";
    },
  });
  const resource = chosen ?? newest ?? "";
  const submit = async () => {
    const found = {
      ...(resource === "" ? { resource: t("publish.resource.missing") } : {}),
      ...(access.everyone || access.groups.length > 0 ? {} : { who: t("publish.who.missing") }),
    };
    setProblems(found);
    setError(undefined);
    if (Object.keys(found).length > 0) return;
    try {
      const { signal } = new AbortController();
      const [named] = await nameChosen("/tenants/resources", [resource], signal);
      const name = await findFreeName(named?.name ?? "", access, signal);
      setReviewed({ name, changes: policyChanges({ ...access, name }, resource) });
    } catch (problem) {
      setError(problem);
    }
  };
  useEffect(() => {
    if (Object.keys(problems).length > 0) form.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus();
  }, [problems]);
  if (reviewed !== undefined) {
    return (
      <Stack>
        <DiscardNotice unsaved={unsaved} />
        <ReviewedChange
          changes={reviewed.changes}
          note={<AccessSummary access={access} name={reviewed.name} />}
          label={t("policies.create")}
          backLabel={t("records.form.back")}
          back={() => setReviewed(undefined)}
          run={async (overrideReason) => {
            const last = await sendChanges(reviewed.changes, { overrideReason });
            unsaved.release();
            return last;
          }}
          done={done}
          refused={(problem) => {
            if (isBlocked(problem)) return false;
            setReviewed(undefined);
            setError(problem);
            return true;
          }}
        />
      </Stack>
    );
  }
  return (
    <form
      ref={form}
      noValidate
      onSubmit={(event: FormEvent) => {
        event.preventDefault();
        void submit();
      }}
    >
      <Stack>
        <RecordSelect
          path="/tenants/resources"
          label={t("publish.resource.label")}
          query={{ "filter[type]": "PRIVATE" }}
          value={resource}
          onChange={(id) => {
            setChosen(id);
            setProblems({});
          }}
          error={problems.resource}
          required
        />
        <AccessFields
          access={access}
          change={(next) => {
            setAccess((now) => ({ ...now, ...next }));
            setProblems({});
          }}
          problem={problems.who}
          Part={PlainPart}
        />
        {error !== undefined && <ProblemNotice error={error} />}
        <DiscardNotice unsaved={unsaved} />
        <Group justify="flex-end">
          <Button type="submit">{t("common.review")}</Button>
        </Group>
      </Stack>
    </form>
  );
}
