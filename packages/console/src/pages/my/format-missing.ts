/** Formats the facts that a person lacks for access. */
import type { ResultOf } from "@gatehouse/client/calls";
import { formatList } from "../../messages/format.ts";
import { t } from "../../messages/i18n.ts";
import { formatCondition } from "../admission-rules/format-condition.ts";

type Missing = ResultOf<"/tenants/my/access/explanation", "post">["missing"][number];

/**
 * @param sourceAddress the address of the person's browser
 * @param hasDevice whether the person has a device to choose
 */
export function formatMissing(missing: Missing, sourceAddress: string, hasDevice = true): string {
  const { kind } = missing;
  switch (kind) {
    case "condition":
      return formatUnmet(missing);
    case "network":
      return t("my.missing.network", { networks: formatList(missing.networks ?? []), address: sourceAddress });
    case "other_device":
      return t("my.missing.other_device", { devices: formatList(missing.devices ?? []) });
    case "device_required":
      return t(hasDevice ? "my.missing.device_required" : "my.missing.device_required_none");
    default:
      return t(`my.missing.${kind}`);
  }
}

function formatUnmet({ about = "person", condition, negated = false }: Missing): string {
  const text = t(`my.missing.condition.${about}`);
  const words = condition === undefined ? undefined : formatCondition(condition);
  if (words === undefined) return text;
  const key = negated ? "my.missing.condition.notWanted" : "my.missing.condition.required";
  return `${text} ${t(key, { condition: words })}`;
}
