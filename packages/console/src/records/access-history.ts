/** The start of the history of access. */
import { useQuery } from "@tanstack/react-query";
import { api } from "../app/api.ts";

/** @returns undefined while the start loads; `begins` is absent if there is no history, or if the request fails */
export function useAccessHistory(enabled: boolean): { readonly begins?: string } | undefined {
  const { data, isError } = useQuery({
    queryKey: ["/tenants/access/history"],
    enabled,
    staleTime: 3_600_000,
    queryFn: ({ signal }) => api.get("/tenants/access/history", { signal }),
  });
  return isError ? {} : data;
}
