/** Filters that several lists share. */
import { t } from "../messages/i18n.ts";
import type { Filter } from "./list-definition.ts";

const dayMs = 86_400_000;

/** Records that did not connect for 30 days. Records that never connected count from their creation. */
export const notSeenFilter: Filter<unknown> = {
  field: "notSeen",
  title: t("lists.presets.notSeen"),
  kind: "switch",
  parameter: "filter[inactiveSince][lt]",
  // The start of the day, so that the query stays the same while the list is shown.
  toStored: () => new Date(Math.floor(Date.now() / dayMs - 30) * dayMs).toISOString(),
};

export const unnamedFilter: Filter<unknown> = {
  field: "unnamed",
  title: t("lists.presets.unnamed"),
  kind: "switch",
  parameter: "filter[isNamedByPolicy]",
  toStored: () => "false",
};
