/** The number of a user's passkeys. */
import { useQuery } from "@tanstack/react-query";
import { api } from "../../app/api.ts";
import { formatNumber } from "../../messages/format.ts";
import { t } from "../../messages/i18n.ts";

/** @returns undefined while the passkeys load */
export function usePasskeyCount(id: string): number | undefined {
  const { data } = useQuery({
    queryKey: ["/tenants/users/{id}/passkeys", id],
    queryFn: () => api.get("/tenants/users/{id}/passkeys", { path: { id } }),
  });
  return data?.length;
}

export function formatPasskeyCount(count: number): string {
  return count === 0 ? t("common.none") : formatNumber(count);
}
