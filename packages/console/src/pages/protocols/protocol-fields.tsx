import type { ResultOf } from "@gatehouse/client/calls";
import { ActionIcon, Button, Fieldset, Group, Input, Select, Stack, TextInput } from "@mantine/core";
import { Plus, X } from "lucide-react";
import type { CustomFieldProps, Field, Values } from "../../records/form-fields.tsx";

export type Protocol = ResultOf<"/tenants/protocols/{id}", "get">;

export const kinds = { ALL: "Everything", PREDEFINED: "Predefined", CUSTOM: "Custom" } as const;

export function formatPorts({ networkProtocols }: Pick<Protocol, "networkProtocols">): string {
  return networkProtocols
    .map(({ protocol, port }) => (port === undefined ? protocol : `${protocol} ${port}`))
    .join(", ");
}

interface Line {
  readonly protocol: "TCP" | "UDP" | "ICMP";
  /** Empty for every port. */
  readonly port: string;
}

export const protocolFields: readonly Field[] = [
  { kind: "text", name: "name", label: "Name", description: "Empty: made of the ports, such as TCP/8443." },
  {
    kind: "custom",
    name: "networkProtocols",
    label: "Ports",
    render: (props) => <PortsField {...props} />,
    format: (value) =>
      (value as readonly Line[]).map(({ protocol, port }) => [protocol, port].filter(Boolean).join(" ")).join(", "),
  },
];

export const newProtocol: Values = { name: "", networkProtocols: [{ protocol: "TCP", port: "" }] satisfies Line[] };

export function bodyOf(values: Values) {
  const { name, networkProtocols } = values as { readonly name: string; readonly networkProtocols: readonly Line[] }; // as the fields make them
  return {
    ...(name.trim() === "" ? {} : { name }),
    networkProtocols: networkProtocols.map(({ protocol, port }) =>
      port.trim() === "" || protocol === "ICMP" ? { protocol } : { protocol, port: port.trim() },
    ),
  };
}

function PortsField({ value, onChange, error }: CustomFieldProps) {
  const lines = value as readonly Line[]; // as this field makes them
  const replace = (index: number, change: Partial<Line>) =>
    onChange(lines.map((line, place) => (place === index ? { ...line, ...change } : line)));
  return (
    <Fieldset legend="Ports">
      <Stack gap="sm">
        {lines.map(({ protocol, port }, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a line is its place until it is stored
          <Group key={index} align="flex-end" gap="sm" wrap="nowrap">
            <Select
              label={`Protocol ${index + 1}`}
              data={["TCP", "UDP", "ICMP"]}
              value={protocol}
              allowDeselect={false}
              onChange={(next) => replace(index, { protocol: next ?? protocol })}
              w={130}
            />
            <TextInput
              label={`Ports ${index + 1}`}
              placeholder={protocol === "ICMP" ? "ICMP has none" : "Every port, 443, or 5000-5100"}
              disabled={protocol === "ICMP"}
              value={protocol === "ICMP" ? "" : port}
              maxLength={11}
              onChange={({ currentTarget }) => replace(index, { port: currentTarget.value })}
              style={{ flex: 1 }}
            />
            <ActionIcon
              variant="default"
              size="lg"
              aria-label={`Leave out line ${index + 1}`}
              disabled={lines.length === 1}
              onClick={() => onChange(lines.filter((_, place) => place !== index))}
            >
              <X size={16} aria-hidden />
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
          More ports
        </Button>
      </Stack>
    </Fieldset>
  );
}
