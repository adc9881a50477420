/** The queries that the summary and the panels of the overview share. */
import { useQuery } from "@tanstack/react-query";
import { api, paged, whole } from "../../app/api.ts";
import { usePermission } from "../../app/session.ts";

const gateways = whole("/tenants/gateways");
const devices = paged("/tenants/devices");
const users = paged("/tenants/users");
const resources = paged("/tenants/resources");
const refreshMs = 15_000;
/** Devices that are read, those that connected last first. */
export const mostDevices = 100;

export function useGateways() {
  return useQuery({
    queryKey: [gateways.path, "list", undefined],
    queryFn: ({ signal }) => gateways.read(signal),
    refetchInterval: refreshMs,
    enabled: usePermission("gateways:read"),
  });
}

export function useLastDevices() {
  return useQuery({
    queryKey: [devices.path, "last connected"],
    queryFn: ({ signal }) => devices.read({ sort: "-lastConnection", limit: mostDevices }, signal),
    refetchInterval: refreshMs,
    enabled: usePermission("devices:read"),
  });
}

export function useUserCount() {
  return useQuery({
    queryKey: [users.path, "count"],
    queryFn: async ({ signal }) => (await users.read({ limit: 1 }, signal)).total,
    enabled: usePermission("users:read"),
  });
}

export function useResourceCount() {
  return useQuery({
    queryKey: [resources.path, "count"],
    queryFn: async ({ signal }) => (await resources.read({ limit: 1 }, signal)).total,
    enabled: usePermission("resources:read"),
  });
}

export function useTestResults() {
  const [canRead, canDecide] = [usePermission("access-tests:read"), usePermission("decisions:read")];
  return useQuery({
    queryKey: ["/tenants/access-tests/check"],
    queryFn: ({ signal }) => api.post("/tenants/access-tests/check", { body: {}, signal }),
    enabled: canRead && canDecide,
  });
}
