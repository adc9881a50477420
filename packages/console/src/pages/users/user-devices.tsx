import { t } from "../../messages/i18n.ts";
import { StatusOfDevice } from "../../records/device-status.tsx";
import { PanelTable } from "../../records/panel-table.tsx";
import { RecordLink } from "../../records/record-link.tsx";
import { RelativeTime } from "../../records/relative-time.tsx";
import type { User } from "./user-fields.tsx";

/** The devices of a user, with their status. */
export function UserDevices({ devices }: Pick<User, "devices">) {
  return (
    <PanelTable
      rows={devices}
      columns={[
        {
          title: t("common.name"),
          cell: ({ id, name }) => <RecordLink to={`/devices/${id}`}>{name}</RecordLink>,
        },
        { title: t("common.status"), cell: (device) => <StatusOfDevice device={device} /> },
        {
          title: t("users.fields.lastConnection"),
          isBelow: true,
          cell: ({ lastConnection }) => <RelativeTime at={lastConnection} />,
        },
      ]}
    />
  );
}
