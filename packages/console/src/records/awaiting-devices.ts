/** The devices that wait for an administrator. */
import { useQuery } from "@tanstack/react-query";
import { paged } from "../app/api.ts";
import { usePermission } from "../app/session.ts";

const devices = paged("/tenants/devices");
const refreshMs = 15_000;

/** The number of devices that wait. */
export function useAwaitingCount() {
  return useQuery({
    queryKey: [devices.path, "awaiting approval"],
    queryFn: async ({ signal }) => (await devices.read({ "filter[approval]": "pending", limit: 1 }, signal)).total,
    refetchInterval: refreshMs,
    enabled: usePermission("devices:read"),
  });
}
