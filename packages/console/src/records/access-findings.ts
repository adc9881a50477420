/** Unreachable resources and policies without effect, which the overview and the lists show. */
import { useQuery } from "@tanstack/react-query";
import { api } from "../app/api.ts";
import { usePermission } from "../app/session.ts";

/** Findings examine all policies, so they are polled less often than cheap queries. */
const refreshMs = 60_000;

export function useFindings(isNeeded = true) {
  const canRead = usePermission("decisions:read");
  return useQuery({
    queryKey: ["/tenants/access/findings"],
    queryFn: ({ signal }) => api.get("/tenants/access/findings", { signal }),
    refetchInterval: refreshMs,
    enabled: canRead && isNeeded,
  });
}

/** The query parameter that limits the list of resources to unreachable ones. */
export const unreachableField = "unreachable";
export const unreachablePath = `/resources?${unreachableField}=1`;
