import type { ItemAt } from "@gatehouse/client/calls";
import { curlQuotes } from "../../messages/quotation-marks.ts";

/** The description of a role. Those of built-in roles come from the server, which writes straight quotation marks. */
export function describeRole({ description, deleteable }: ItemAt<"/tenants/roles">): string | undefined {
  return description === undefined || deleteable ? description : curlQuotes(description);
}
