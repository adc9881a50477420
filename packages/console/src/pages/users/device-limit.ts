/** The device limit that applies to a user: the user's own limit, or the largest limit of the user's groups. */
import { useQuery } from "@tanstack/react-query";
import { paged } from "../../app/api.ts";
import { usePermission } from "../../app/session.ts";
import { formatNumber } from "../../messages/format.ts";
import { t } from "../../messages/i18n.ts";
import type { Fact } from "../../records/record-page.tsx";

const groups = paged("/tenants/groups");
/** A user can be in at most 256 groups. */
const mostGroups = 256;

/** The largest limit of the user's groups. Undefined while it loads, and without the permission to read groups. */
export function useDeviceLimitOfGroups(user: string): number | undefined {
  const { data } = useQuery({
    queryKey: [groups.path, "of user", user],
    enabled: usePermission("groups:read"),
    queryFn: ({ signal }) => groups.read({ "filter[users.id]": user, limit: mostGroups }, signal),
  });
  if (data === undefined || data.data.length === 0) return undefined;
  return Math.max(...data.data.map(({ maxDevices }) => maxDevices));
}

/** @param own the user's own limit; null if the limit of the groups applies */
export function formatDeviceLimit(own: number | null, ofGroups: number | undefined): Pick<Fact, "value" | "note"> {
  if (own !== null) return { value: formatNumber(own), note: t("users.fields.maxDevicesOwn") };
  const byGroups = t("users.fields.maxDevicesByGroups");
  return ofGroups === undefined ? { value: byGroups } : { value: formatNumber(ofGroups), note: byGroups };
}
