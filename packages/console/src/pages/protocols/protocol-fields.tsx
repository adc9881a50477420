import type { ResultOf } from "@gatehouse/client/calls";
import { ActionIcon, Button, Fieldset, Group, Input, Select, Stack, TextInput } from "@mantine/core";
import { Plus, Trash2 } from "lucide-react";
import { t } from "../../messages/i18n.ts";
import type { CustomFieldProps, Field, Values } from "../../records/form-fields.tsx";

export type Protocol = ResultOf<"/tenants/protocols/{id}", "get">;

export const kinds = {
  ALL: t("protocols.kinds.ALL"),
  PREDEFINED: t("protocols.kinds.PREDEFINED"),
  CUSTOM: t("protocols.kinds.CUSTOM"),
};

export function formatPorts({ networkProtocols }: Pick<Protocol, "networkProtocols">): string {
  return networkProtocols
    .map(({ protocol, port }) => (port === undefined ? protocol : `${protocol} ${port}`))
    .join(", ");
}

interface Line {
  readonly protocol: "TCP" | "UDP" | "ICMP";
  /** Empty for all ports. */
  readonly port: string;
}

export const protocolFields: readonly Field[] = [
  { kind: "text", name: "name", label: t("common.name"), description: t("protocols.fields.nameHelp") },
  {
    kind: "custom",
    name: "networkProtocols",
    label: t("protocols.fields.ports"),
    render: (props) => <PortsField {...props} />,
    format: (value) =>
      (value as readonly Line[]).map(({ protocol, port }) => [protocol, port].filter(Boolean).join(" ")).join(", "),
  },
];

export const newProtocol: Values = { name: "", networkProtocols: [{ protocol: "TCP", port: "" }] satisfies Line[] };

export function bodyOf(values: Values) {
  const { name, networkProtocols } = values as { readonly name: string; readonly networkProtocols: readonly Line[] }; // as the fields define them
  return {
    ...(name.trim() === "" ? {} : { name }),
    networkProtocols: networkProtocols.map(({ protocol, port }) =>
      port.trim() === "" || protocol === "ICMP" ? { protocol } : { protocol, port: port.trim() },
    ),
  };
}

function PortsField({ value, onChange, error }: CustomFieldProps) {
  const lines = value as readonly Line[]; // as this field defines them
  const replace = (index: number, change: Partial<Line>) =>
    onChange(lines.map((line, other) => (other === index ? { ...line, ...change } : line)));
  return (
    <Fieldset legend={t("protocols.fields.ports")}>
      <Stack gap="sm">
        <Input.Description>{t("protocols.fields.portsHelp")}</Input.Description>
        {lines.map(({ protocol, port }, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: an unsaved line has no other identity
          <Group key={index} align="flex-end" gap="sm" wrap="nowrap">
            <Select
              label={t("protocols.fields.protocolLine", { number: index + 1 })}
              data={["TCP", "UDP", "ICMP"]}
              value={protocol}
              allowDeselect={false}
              onChange={(next) => replace(index, { protocol: next ?? protocol })}
              w={130}
            />
            <TextInput
              label={t("protocols.fields.portsLine", { number: index + 1 })}
              placeholder={protocol === "ICMP" ? t("protocols.fields.portNone") : t("protocols.fields.portPlaceholder")}
              disabled={protocol === "ICMP"}
              value={protocol === "ICMP" ? "" : port}
              maxLength={11}
              onChange={({ currentTarget }) => replace(index, { port: currentTarget.value })}
              style={{ flex: 1 }}
            />
            <ActionIcon
              variant="default"
              size="lg"
              aria-label={t("protocols.fields.removeLine", { number: index + 1 })}
              disabled={lines.length === 1}
              onClick={() => onChange(lines.filter((_, other) => other !== index))}
            >
              <Trash2 size={16} aria-hidden />
            </ActionIcon>
          </Group>
        ))}
        {error !== undefined && <Input.Error>{error}</Input.Error>}
        <Button
          variant="default"
          size="xs"
          leftSection={<Plus size={14} aria-hidden />}
          style={{ alignSelf: "flex-start" }}
          onClick={() => onChange([...lines, { protocol: "TCP", port: "" } satisfies Line])}
        >
          {t("protocols.fields.addPorts")}
        </Button>
      </Stack>
    </Fieldset>
  );
}
