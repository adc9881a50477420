import { useDisclosure } from "@mantine/hooks";
import { useState } from "react";
import { usePermission } from "../../app/session.ts";
import { t } from "../../messages/i18n.ts";
import { AddingPanel } from "../../records/adding-panel.tsx";
import { addressBody, addressFields, newAddress } from "../../records/address-fields.tsx";
import { PanelTable } from "../../records/panel-table.tsx";
import { RecordForm } from "../../records/record-form.tsx";
import { RecordLink, RecordLinks } from "../../records/record-link.tsx";
import { RemoveButton } from "../../records/remove-button.tsx";
import { ReviewDialog } from "../../records/reviewed-change.tsx";
import type { Resource } from "./resource-fields.tsx";

interface ResourceAddressesProps {
  readonly resource: Resource;
  readonly etag: string;
}

export function ResourceAddresses({ resource, etag }: ResourceAddressesProps) {
  const canWrite = usePermission("resources:write");
  const canRead = usePermission("addresses:read");
  const [adding, { open, close }] = useDisclosure(false);
  const [removed, setRemoved] = useState<Resource["addresses"][number]>();
  const at = `/tenants/resources/${resource.id}/addresses`;
  return (
    <>
      <AddingPanel
        title={t("resources.addresses.title", { count: resource.addresses.length })}
        add={{ label: t("resources.addresses.add"), run: open, permission: "resources:write" }}
        empty={{
          title: t("addresses.empty.title"),
          text: t("resources.addresses.empty"),
          guide: "console#publish-a-resource",
        }}
        isEmpty={resource.addresses.length === 0}
      >
        <PanelTable
          rows={resource.addresses}
          columns={[
            {
              title: t("records.address.address"),
              cell: ({ id, address }) =>
                canRead ? <RecordLink to={`/addresses/${id}`}>{address}</RecordLink> : address,
            },
            {
              title: t("resources.addresses.protocols"),
              isBelow: true,
              cell: ({ protocols }) => <RecordLinks path="protocols" records={protocols} />,
            },
          ]}
          actions={
            canWrite
              ? (address) => (
                  <RemoveButton
                    label={t("resources.addresses.remove", { address: address.address })}
                    onClick={() => setRemoved(address)}
                  />
                )
              : undefined
          }
        />
      </AddingPanel>
      {removed !== undefined && (
        <ReviewDialog
          title={t("resources.addresses.removeTitle", { address: removed.address, name: resource.name })}
          note={t("resources.addresses.removeNote")}
          changes={[{ method: "DELETE", path: `${at}/${removed.id}` }]}
          etag={etag}
          label={t("common.remove")}
          danger
          doneMessage={t("resources.addresses.removed")}
          close={() => setRemoved(undefined)}
        />
      )}
      {adding && (
        <RecordForm
          title={t("resources.addresses.addTitle", { name: resource.name })}
          fields={addressFields(resource.type)}
          initial={newAddress}
          submitLabel={t("resources.addresses.add")}
          plan={(values) => [{ method: "POST", path: at, body: addressBody(values) }]}
          close={close}
        />
      )}
    </>
  );
}
