import { ActionIcon, Button, Table, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { X } from "lucide-react";
import { useState } from "react";
import { usePermission } from "../../app/session.ts";
import { addressFields, newAddress } from "../../records/address-fields.tsx";
import { RecordForm } from "../../records/record-form.tsx";
import { RecordLink } from "../../records/record-link.tsx";
import { Panel } from "../../records/record-page.tsx";
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
    <Panel
      title={`Addresses (${resource.addresses.length})`}
      actions={
        canWrite && (
          <Button size="xs" variant="default" onClick={open}>
            Add an address
          </Button>
        )
      }
    >
      {resource.addresses.length === 0 ? (
        <Text c="dimmed">None. Without an address nobody reaches it.</Text>
      ) : (
        <Table className="record-table">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Address</Table.Th>
              <Table.Th>Protocols</Table.Th>
              {canWrite && (
                <Table.Th w={60}>
                  <Text span size="sm" fw={600}>
                    Remove
                  </Text>
                </Table.Th>
              )}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {resource.addresses.map((address) => (
              <Table.Tr key={address.id}>
                <Table.Td>
                  {canRead ? (
                    <RecordLink to={`/addresses/${address.id}`}>{address.address}</RecordLink>
                  ) : (
                    address.address
                  )}
                </Table.Td>
                <Table.Td>{address.protocols.map(({ name }) => name).join(", ")}</Table.Td>
                {canWrite && (
                  <Table.Td>
                    <ActionIcon
                      variant="default"
                      aria-label={`Remove ${address.address}`}
                      onClick={() => setRemoved(address)}
                    >
                      <X size={14} aria-hidden />
                    </ActionIcon>
                  </Table.Td>
                )}
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      )}
      {removed !== undefined && (
        <ReviewDialog
          title={`Remove ${removed.address} from ${resource.name}?`}
          note="The address is deleted with its protocols. This can be put back from its event."
          changes={[{ method: "DELETE", path: `${at}/${removed.id}` }]}
          etag={etag}
          label="Remove"
          danger
          backLabel="Keep it"
          doneMessage="The address is no longer the resource's"
          close={() => setRemoved(undefined)}
        />
      )}
      {adding && (
        <RecordForm
          title={`An address of ${resource.name}`}
          fields={addressFields()}
          initial={newAddress}
          submitLabel="Add"
          plan={(body) => [{ method: "POST", path: at, body }]}
          close={close}
        />
      )}
    </Panel>
  );
}
