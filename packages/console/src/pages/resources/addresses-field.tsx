/** The addresses of a new resource, each with its protocols. */
import { ActionIcon, Button, Fieldset, Group, Input, Stack, Text, TextInput } from "@mantine/core";
import { Plus, Trash2 } from "lucide-react";
import { t } from "../../messages/i18n.ts";
import type { CustomFieldProps } from "../../records/form-fields.tsx";
import { RecordPicker } from "../../records/record-picker.tsx";
import type { NewAddress } from "./new-address.ts";

export function AddressesField({ value, onChange, error }: CustomFieldProps) {
  const addresses = value as readonly NewAddress[]; // as this field makes them
  const replace = (index: number, change: Partial<NewAddress>) =>
    onChange(addresses.map((address, place) => (place === index ? { ...address, ...change } : address)));
  return (
    <Fieldset legend={t("resources.addresses.label")}>
      <Stack gap="sm">
        <Input.Description>{t("records.address.help")}</Input.Description>
        {addresses.map(({ address, protocols }, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a line is its place until it is stored
          <Group key={index} align="flex-end" wrap="wrap" gap="sm">
            <TextInput
              label={t("resources.addresses.field", { number: index + 1 })}
              placeholder="192.0.2.0/24"
              value={address}
              onChange={({ currentTarget }) => replace(index, { address: currentTarget.value })}
              style={{ flex: "1 1 220px" }}
              maxLength={253}
            />
            <Group align="flex-end" wrap="nowrap" gap="sm" flex="1 1 220px" miw={0}>
              <div style={{ flex: 1, minWidth: 0 }}>
                <RecordPicker
                  path="/tenants/protocols"
                  label={t("resources.addresses.protocolsOfField", { number: index + 1 })}
                  value={protocols}
                  onChange={(ids) => replace(index, { protocols: [...ids] })}
                />
              </div>
              <ActionIcon
                variant="default"
                size="lg"
                aria-label={t("resources.addresses.removeField", { number: index + 1 })}
                onClick={() => onChange(addresses.filter((_, place) => place !== index))}
              >
                <Trash2 size={16} aria-hidden />
              </ActionIcon>
            </Group>
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
          {t("resources.addresses.another")}
        </Button>
      </Stack>
    </Fieldset>
  );
}
