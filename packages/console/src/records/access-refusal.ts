/** Why a user or a device can reach nothing, whatever policies say. */
import { useQuery } from "@tanstack/react-query";
import { api } from "../app/api.ts";
import { usePermission } from "../app/session.ts";

type Refusal = "user_inactive" | "user_pending" | "device_inactive" | "device_session_ended";

/**
 * @param user the id; empty for the owner of the device
 * @param device the id; empty for all devices
 * @returns undefined if policies decide, and while the records load
 */
export function useRefusal(user: string, device: string, enabled: boolean): Refusal | undefined {
  const [canUsers, canDevices] = [usePermission("users:read"), usePermission("devices:read")];
  const { data: machine } = useQuery({
    queryKey: ["/tenants/devices/{id}", device, "refusal"],
    enabled: enabled && canDevices && device !== "",
    queryFn: ({ signal }) => api.get("/tenants/devices/{id}", { path: { id: device }, signal }),
  });
  const owner = user === "" ? (machine?.user?.id ?? "") : user;
  const { data: person } = useQuery({
    queryKey: ["/tenants/users/{id}", owner, "refusal"],
    enabled: enabled && canUsers && owner !== "",
    queryFn: ({ signal }) => api.get("/tenants/users/{id}", { path: { id: owner }, signal }),
  });
  if (person?.status === "inactive") return "user_inactive";
  if (person?.status === "pending") return "user_pending";
  if (machine?.active === false) return "device_inactive";
  const endsAt = machine?.session?.endsAt;
  return endsAt !== undefined && Date.parse(endsAt) <= Date.now() ? "device_session_ended" : undefined;
}
