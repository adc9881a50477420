import type { ResultOf } from "@gatehouse/client/calls";
import { Skeleton, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { api } from "../../app/api.ts";
import { usePermission } from "../../app/session.ts";
import { t } from "../../messages/i18n.ts";
import { Status } from "../../records/status.tsx";
import type { AccessTestState } from "./format-test.ts";

type Report = ResultOf<"/tenants/access-tests/check", "post">;

/** The results of all tests, in one query that all parts of a page share. */
export function useTestReport() {
  const canRead = usePermission("decisions:read");
  const query = useQuery<Report>({
    queryKey: ["/tenants/access-tests/check"],
    enabled: canRead,
    queryFn: ({ signal }) => api.post("/tenants/access-tests/check", { body: {}, signal }),
  });
  return { canRead, ...query };
}

export function TestState({ id }: { readonly id: string }) {
  const { canRead, data, error } = useTestReport();
  if (!canRead || error !== null) return <Text c="dimmed">{t("accessTests.state.unknown")}</Text>;
  if (data === undefined) return <Skeleton height={14} width={80} />;
  const test = data.tests.find((each) => each.id === id);
  return test === undefined ? <Text c="dimmed">{t("accessTests.state.unknown")}</Text> : <StateOf state={test.state} />;
}

export function StateOf({ state: { holds, missing, brokenCount } }: { readonly state: AccessTestState }) {
  if (missing !== undefined) return <Status tone="waiting">{t(`accessTests.missing.${missing}`)}</Status>;
  return (
    <Status tone={holds ? "good" : "bad"}>
      {holds ? t("accessTests.state.passing") : t("accessTests.state.failing", { count: brokenCount })}
    </Status>
  );
}
