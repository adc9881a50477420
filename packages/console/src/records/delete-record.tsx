import { Trash2 } from "lucide-react";
import type { ReactNode } from "react";
import { ReviewedButton } from "./reviewed-change.tsx";

interface DeleteRecordProps {
  /** Such as "user ann@example.com". */
  readonly what: string;
  /** What follows from it, before it is done. */
  readonly effect: ReactNode;
  /** Such as `/tenants/users/01980000-…`. */
  readonly path: string;
  readonly etag?: string;
  /** False where nobody's access can follow from it. */
  readonly changesAccess?: boolean;
  /** Where it is called something else than deleting. */
  readonly label?: string;
  readonly size?: "xs" | "sm";
  readonly done?: () => void;
}

export function DeleteRecord({ what, effect, path, label = "Delete", done, ...given }: DeleteRecordProps) {
  return (
    <ReviewedButton
      {...given}
      label={label}
      icon={<Trash2 size={16} aria-hidden />}
      title={`${label} ${what}?`}
      note={effect}
      changes={[{ method: "DELETE", path }]}
      danger
      leaves={done !== undefined}
      backLabel="Keep it"
      {...(done === undefined ? {} : { done })}
    />
  );
}
