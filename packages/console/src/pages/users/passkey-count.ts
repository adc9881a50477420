/** The number of a user's passkeys. */
import { useQuery } from "@tanstack/react-query";
import { api } from "../../app/api.ts";
import { formatNumber } from "../../messages/format.ts";
import { t } from "../../messages/i18n.ts";
import type { Fact } from "../../records/record-page.tsx";

/** @returns undefined while the passkeys load */
export function usePasskeyCount(id: string): number | undefined {
  const { data } = useQuery({
    queryKey: ["/tenants/users/{id}/passkeys", id],
    queryFn: () => api.get("/tenants/users/{id}/passkeys", { path: { id } }),
  });
  return data?.length;
}

/** @param count undefined while the passkeys load */
export function passkeyFact(count: number | undefined): Fact {
  const none = count === undefined ? {} : { none: t("common.none") };
  return {
    label: t("signIn.account.passkeys"),
    value: count !== undefined && count > 0 && formatNumber(count),
    ...none,
  };
}
