import type { ResultOf } from "@gatehouse/client/calls";
import { t } from "../messages/i18n.ts";

type Subject = ResultOf<"/tenants/events/{id}/effect", "get">["groups"][number]["subjects"][number];

/** A subject of a change of access, such as "ann@example.com on Laptop". */
export function formatSubject({ kind, name, user }: Subject): string {
  if (kind === "device" && user !== undefined) {
    return t("records.effect.userOnDevice", { user: user.name, device: name });
  }
  if (kind === "site") return t("records.effect.site", { name });
  return kind === "user" ? t("records.effect.userWithoutDevice", { name }) : name;
}
