import { ActionIcon, Button, Table, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { X } from "lucide-react";
import { api } from "../../app/api.ts";
import { useMay } from "../../app/session.ts";
import type { Field } from "../../records/form-fields.tsx";
import { RecordForm } from "../../records/record-form.tsx";
import { Panel } from "../../records/record-page.tsx";
import { RecordPicker } from "../../records/record-picker.tsx";
import { useAction } from "../../records/use-record.ts";
import type { NewAddress } from "./new-address.ts";
import type { Resource } from "./resource-fields.tsx";

const fields: readonly Field[] = [
  {
    kind: "text",
    name: "address",
    label: "Address",
    description: "An IP address, a CIDR, a host name, a domain, or *.domain.",
    required: true,
    maxLength: 253,
  },
  {
    kind: "own",
    name: "protocols",
    label: "Protocols",
    render: ({ value, onChange, error }) => (
      <RecordPicker
        path="/tenants/protocols"
        label="Protocols"
        value={value as readonly string[]} // as this field makes it
        onChange={onChange}
        error={error}
      />
    ),
    say: (value) => String(value),
  },
];

export function ResourceAddresses({ resource }: { readonly resource: Resource }) {
  const may = useMay("resources:write");
  const [adding, { open, close }] = useDisclosure(false);
  const remove = useAction({
    run: (addressId: string) =>
      api.delete("/tenants/resources/{id}/addresses/{addressId}", { path: { id: resource.id, addressId } }),
    done: "The address is no longer the resource's",
  });
  return (
    <Panel
      title={`Addresses (${resource.addresses.length})`}
      actions={
        may && (
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
              {may && (
                <Table.Th w={60}>
                  <Text span size="sm" fw={600}>
                    Remove
                  </Text>
                </Table.Th>
              )}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {resource.addresses.map(({ id, address, protocols }) => (
              <Table.Tr key={id}>
                <Table.Td>{address}</Table.Td>
                <Table.Td>{protocols.map(({ name }) => name).join(", ")}</Table.Td>
                {may && (
                  <Table.Td>
                    <ActionIcon
                      variant="default"
                      aria-label={`Remove ${address}`}
                      disabled={remove.isPending}
                      onClick={() => remove.mutate(id)}
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
      {adding && (
        <RecordForm
          title={`An address of ${resource.name}`}
          fields={fields}
          initial={{ address: "", protocols: [] }}
          submitLabel="Add"
          submit={(values) =>
            api.post("/tenants/resources/{id}/addresses", {
              path: { id: resource.id },
              body: values as unknown as NewAddress, // as the fields make it
            })
          }
          close={close}
        />
      )}
    </Panel>
  );
}
