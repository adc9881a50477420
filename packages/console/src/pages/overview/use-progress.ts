/** The progress of the first steps, as the records show it. The queries refetch when events arrive. */
import type { ItemAt } from "@gatehouse/client/calls";
import { useQuery } from "@tanstack/react-query";
import { paged, whole } from "../../app/api.ts";
import { followChanges } from "../../app/live-updates.ts";
import { usePermission } from "../../app/session.ts";

const gateways = whole("/tenants/gateways");
const resources = paged("/tenants/resources");
const devices = paged("/tenants/devices");
const access = paged("/tenants/access");
/** The first connection of a gateway is not an event. */
const gatewaysRefreshMs = 15_000;
/** Events refetch the other queries. The interval is for changes without events, such as times and posture. */
const refreshMs = 60_000;
/** The interval of a session that receives no events. */
const refreshWithoutEventsMs = 15_000;
/** Resources and devices whose access is read, at most of each. One check sends at most six requests. */
const mostExamined = 2;

export type ReachedPath = ItemAt<"/tenants/access">;

export interface Progress {
  readonly gateway: boolean;
  readonly resource: boolean;
  readonly device: boolean;
  readonly policy: boolean;
  readonly reached: boolean;
}

/** Undefined while it loads. */
export function useProgress(): Progress | undefined {
  const { data: all } = useQuery({
    queryKey: [gateways.path, "list", undefined],
    queryFn: ({ signal }) => gateways.read(signal),
    refetchInterval: gatewaysRefreshMs,
  });
  const resource = useAny("/tenants/resources");
  const device = useAny("/tenants/devices");
  const policy = useAny("/tenants/policies", { "filter[type]": "PRIVATE", "filter[action]": "true" });
  const isReady = resource === true && device === true && policy === true;
  const refetchInterval = useRefreshMs();
  const { data: found } = useQuery({ ...reachedQuery, refetchInterval, enabled: isReady });
  if (all === undefined || resource === undefined || device === undefined || policy === undefined) return undefined;
  if (isReady && found === undefined) return undefined;
  // Once deployed, a gateway that is offline is a finding of the overview, not a step.
  const gateway = all.some(({ deployedOn }) => deployedOn !== null);
  return { gateway, resource, device, policy, reached: gateway && isReady && found?.[0] !== undefined };
}

/** The first access that exists. Undefined while there is none. */
export function useReachedPath(): ReachedPath | undefined {
  const refetchInterval = useRefreshMs();
  const { data } = useQuery({ ...reachedQuery, refetchInterval });
  return data?.[0];
}

function useRefreshMs(): number {
  return usePermission("events:read") ? refreshMs : refreshWithoutEventsMs;
}

const reachedQuery = {
  queryKey: [access.path, "first"],
  meta: followChanges(
    "/tenants/admission-rules",
    devices.path,
    gateways.path,
    "/tenants/groups",
    "/tenants/policies",
    resources.path,
    "/tenants/users",
  ),
  queryFn: async ({ signal }: { readonly signal: AbortSignal }): Promise<readonly ReachedPath[]> => {
    // A new tenant reaches its newest resource first (ids begin with the time of creation). Other tenants have devices
    // that connected lately.
    const [{ data: newest }, { data: connected }] = await Promise.all([
      resources.read({ sort: "-id", limit: mostExamined }, signal),
      devices.read({ sort: "-lastConnection", limit: mostExamined }, signal),
    ]);
    const questions = [...newest.map(({ id }) => ({ resource: id })), ...connected.map(({ id }) => ({ device: id }))];
    for (const question of questions) {
      const { data } = await access.read({ ...question, limit: 1 }, signal);
      if (data.length > 0) return data;
    }
    return [];
  },
};

/** Whether a list has records. Undefined while it loads. */
function useAny(
  path: "/tenants/resources" | "/tenants/devices" | "/tenants/policies",
  query: Readonly<Record<string, string>> = {},
): boolean | undefined {
  const { data } = useQuery({
    queryKey: [path, "any", query],
    queryFn: async ({ signal }) => (await paged(path).read({ ...query, limit: 1 }, signal)).total > 0,
    refetchInterval: useRefreshMs(),
  });
  return data;
}
