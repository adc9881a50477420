/** The person's account and devices, for all parts of the page. */
import type { ItemAt } from "@gatehouse/client/calls";
import { useQuery } from "@tanstack/react-query";
import { api } from "../../app/api.ts";

export type MyDevice = ItemAt<"/tenants/my/devices">;

export const myDevicesKey = ["/tenants/my/devices"];

export function useMyDevices() {
  return useQuery({
    queryKey: myDevicesKey,
    queryFn: ({ signal }) => api.get("/tenants/my/devices", { signal }),
    refetchInterval: 15_000,
  });
}

export function useMyself() {
  return useQuery({ queryKey: ["/tenants/my"], queryFn: ({ signal }) => api.get("/tenants/my", { signal }) });
}
