import type { GatehouseError } from "@gatehouse/client/errors";
import { Ban, Trash2 } from "lucide-react";
import type { ReactNode } from "react";
import { t } from "../messages/i18n.ts";
import { type Remedy, ReviewedButton } from "./reviewed-change.tsx";

interface DeleteRecordProps {
  /** The question that the dialog asks, such as "Delete user ann@example.com?". */
  readonly title: string;
  /** The consequences apart from access. */
  readonly effect: ReactNode;
  /** Such as `/tenants/users/01980000-…`. */
  readonly path: string;
  readonly etag?: string;
  /** False if the deletion cannot change anyone's access. */
  readonly changesAccess?: boolean;
  /** Another name of the deletion, such as "Revoke". */
  readonly label?: string;
  readonly size?: "xs" | "sm";
  readonly done?: () => void;
  /** Changes that make the deletion possible, and the deletion itself. */
  readonly remedy?: (error: GatehouseError) => Remedy | undefined;
}

export function DeleteRecord({ title, effect, path, label = t("common.delete"), done, ...given }: DeleteRecordProps) {
  return (
    <ReviewedButton
      {...given}
      label={label}
      // To people, revoking a key or refusing a device is not a deletion.
      icon={label === t("common.delete") ? <Trash2 size={16} aria-hidden /> : <Ban size={16} aria-hidden />}
      title={title}
      note={effect}
      changes={[{ method: "DELETE", path }]}
      danger
      leaves={done !== undefined}
      {...(done === undefined ? {} : { done })}
    />
  );
}
