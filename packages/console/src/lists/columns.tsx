/** Columns that many lists share. */
import type { ItemAt } from "@gatehouse/client/calls";
import { t } from "../messages/i18n.ts";
import { Absent } from "../records/absent.tsx";
import { Kind } from "../records/kind-icon.tsx";
import { RecordLink } from "../records/record-link.tsx";
import type { Column } from "./list-definition.ts";

interface Named {
  readonly id: string;
  readonly name: string;
}

/** The name, as a link to the page of the record. Paged lists sort by the field `name`. */
export function nameColumn<Row extends Named>(folder: string, source: "paged" | "whole"): Column<Row> {
  return {
    key: "name",
    title: t("common.name"),
    sortBy: source === "paged" ? "name" : ({ name }) => name,
    cell: ({ id, name }) => (
      <Kind of={folder}>
        <RecordLink to={`/${folder}/${id}`}>{name}</RecordLink>
      </Kind>
    ),
  };
}

type Device = ItemAt<"/tenants/devices">;

/** The user of a device, as a link. */
export const deviceUserColumn: Column<Device> = {
  key: "user",
  title: t("devices.fields.user"),
  isBelow: true,
  cell: ({ user }) =>
    user === undefined ? (
      <Absent>{t("devices.noUser")}</Absent>
    ) : (
      <RecordLink to={`/users/${user.id}`}>{user.email}</RecordLink>
    ),
};

/** The operating system of a device, with its version. */
export const deviceSystemColumn: Column<Device> = {
  key: "os",
  title: t("devices.fields.system"),
  visibleFrom: "lg",
  cell: ({ os, osVersion }) => [os, osVersion].filter(Boolean).join(" "),
};
