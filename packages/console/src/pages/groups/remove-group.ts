/** The deletion of a group that is the only group of some users: the default group takes them. */
import type { GatehouseError } from "@gatehouse/client/errors";
import { paged } from "../../app/api.ts";
import { t } from "../../messages/i18n.ts";
import type { Remedy } from "../../records/reviewed-change.tsx";
import type { Versioned } from "../../records/use-record.ts";

/** A change set has at most 100 changes, and the deletion is one of them. */
const mostUsers = 99;
const userPath = /^\/tenants\/users\/([0-9a-f-]{36})$/;

export function removeGroup(
  { record: { id }, etag }: Versioned<{ readonly id: string }>,
  error: GatehouseError,
): Remedy | undefined {
  // An error of a preview also points to the change.
  const users = error.errors.flatMap(({ pointer }) => userPath.exec(pointer)?.[1] ?? []);
  if (error.code !== "last_group" || users.length === 0 || users.length > mostUsers) return undefined;
  return {
    label: t("groups.delete.moveMembers", { count: users.length }),
    changes: async () => {
      const { data } = await paged("/tenants/groups").read({ "filter[isSamlDefaultGroup]": "true", limit: 1 });
      const [target] = data;
      if (target === undefined || target.id === id) return t("groups.delete.noDefault");
      return [
        ...users.map(
          (user) =>
            ({
              method: "PATCH",
              path: `/tenants/users/${user}/groups`,
              body: { addedGroups: [target.id], removedGroups: [] },
            }) as const,
        ),
        { method: "DELETE", path: `/tenants/groups/${id}`, ifMatch: etag },
      ];
    },
  };
}
