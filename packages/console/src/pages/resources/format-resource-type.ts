import type { ResultOf } from "@gatehouse/client/calls";
import { t } from "../../messages/i18n.ts";

type ResourceType = ResultOf<"/tenants/resources/{id}", "get">["type"];

export function formatResourceType(type: ResourceType): string {
  return t(`resources.types.${type}`);
}
