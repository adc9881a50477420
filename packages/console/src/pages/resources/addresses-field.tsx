/** The addresses of a new resource: each with the protocols it is reached by. */
import { ActionIcon, Button, Fieldset, Group, Stack, Text, TextInput } from "@mantine/core";
import { Plus, X } from "lucide-react";
import type { CustomFieldProps } from "../../records/form-fields.tsx";
import { RecordPicker } from "../../records/record-picker.tsx";
import type { NewAddress } from "./new-address.ts";

export function AddressesField({ value, onChange, error }: CustomFieldProps) {
  const addresses = value as readonly NewAddress[]; // as this field makes them
  const replace = (index: number, change: Partial<NewAddress>) =>
    onChange(addresses.map((address, place) => (place === index ? { ...address, ...change } : address)));
  return (
    <Fieldset legend="Addresses">
      <Stack gap="sm">
        {addresses.map(({ address, protocols }, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a line is its place until it is stored
          <Group key={index} align="flex-end" wrap="wrap" gap="sm">
            <TextInput
              label={`Address ${index + 1}`}
              placeholder="10.0.0.0/24, host.example.com, *.example.com"
              value={address}
              onChange={({ currentTarget }) => replace(index, { address: currentTarget.value })}
              style={{ flex: "1 1 220px" }}
              maxLength={253}
            />
            <div style={{ flex: "1 1 220px" }}>
              <RecordPicker
                path="/tenants/protocols"
                label={`Protocols of address ${index + 1}`}
                value={protocols}
                onChange={(ids) => replace(index, { protocols: [...ids] })}
              />
            </div>
            <ActionIcon
              variant="default"
              size="lg"
              aria-label={`Leave out address ${index + 1}`}
              onClick={() => onChange(addresses.filter((_, place) => place !== index))}
            >
              <X size={16} aria-hidden />
            </ActionIcon>
          </Group>
        ))}
        {error !== undefined && (
          <Text size="sm" c="var(--mantine-color-error)">
            {error}
          </Text>
        )}
        <Button
          variant="default"
          size="xs"
          leftSection={<Plus size={14} aria-hidden />}
          style={{ alignSelf: "flex-start" }}
          onClick={() => onChange([...addresses, { address: "", protocols: [] }])}
        >
          Another address
        </Button>
      </Stack>
    </Fieldset>
  );
}
