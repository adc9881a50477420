/** Makes the user the owner of the tenant, in place of the current owner. */

import { permissions as allPermissions } from "@gatehouse/contract/permissions";
import { useSession } from "../../app/session.ts";
import { t } from "../../messages/i18n.ts";
import { ReviewedButton } from "../../records/reviewed-change.tsx";
import type { User } from "./user-fields.tsx";

export function TransferOwnership({ user, etag }: { readonly user: User; readonly etag: string }) {
  const { permissions } = useSession();
  // The server requires every permission.
  const canTransfer = allPermissions.every((permission) => permissions.includes(permission));
  const isOwner = user.roles.some(({ type }) => type === "OWNER");
  if (!canTransfer || isOwner || user.status !== "active") return null;
  const name = user.email ?? user.id;
  return (
    <ReviewedButton
      label={t("users.transfer.label")}
      title={t("users.transfer.title", { name })}
      note={t("users.transfer.note")}
      changes={[{ method: "POST", path: `/tenants/users/${user.id}/transfer-ownership` }]}
      etag={etag}
      doneMessage={t("users.transfer.done", { name })}
      danger
    />
  );
}
