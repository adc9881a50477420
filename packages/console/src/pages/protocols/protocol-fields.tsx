import type { ResultOf } from "@gatehouse/client/calls";
import { Select, TextInput } from "@mantine/core";
import { t } from "../../messages/i18n.ts";
import { type CustomFieldProps, type Field, nameField, type Values } from "../../records/form-fields.tsx";
import { RepeatedRows } from "../../records/repeated-rows.tsx";

export type Protocol = ResultOf<"/tenants/protocols/{id}", "get">;

/** Every protocol that a person did not create is built in, also the one of all traffic. */
export function formatKind(type: Protocol["type"]): string {
  return type === "CUSTOM" ? t("protocols.kinds.custom") : t("protocols.kinds.builtIn");
}

export function formatPorts({ networkProtocols }: Pick<Protocol, "networkProtocols">): string {
  return networkProtocols
    .map(({ protocol, port }) => (port === undefined ? protocol : `${protocol} ${port.replace("-", "–")}`))
    .join(", ");
}

interface Line {
  readonly protocol: "TCP" | "UDP" | "ICMP";
  /** Empty for all ports. */
  readonly port: string;
}

export const protocolFields: readonly Field[] = [
  nameField(t("protocols.fields.nameExample"), { description: t("protocols.fields.nameHelp"), required: false }),
  {
    kind: "custom",
    name: "networkProtocols",
    label: t("protocols.fields.protocolsAndPorts"),
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
  return (
    <RepeatedRows
      legend={t("protocols.fields.protocolsAndPorts")}
      description={t("protocols.fields.portsHelp")}
      rows={value as readonly Line[]} // as this field defines them
      onChange={onChange}
      error={error}
      addLabel={t("protocols.fields.addPorts")}
      newRow={{ protocol: "TCP", port: "" }}
      removeLabel={(number) => t("protocols.fields.removeLine", { number })}
    >
      {({ protocol, port }, number, replace) => (
        <>
          <Select
            label={
              number === undefined ? t("protocols.fields.protocol") : t("protocols.fields.protocolLine", { number })
            }
            data={["TCP", "UDP", "ICMP"]}
            value={protocol}
            allowDeselect={false}
            onChange={(next) => replace({ protocol: next ?? protocol })}
            w={110}
          />
          <TextInput
            label={number === undefined ? t("protocols.fields.port") : t("protocols.fields.portLine", { number })}
            placeholder={protocol === "ICMP" ? t("protocols.fields.portNone") : t("protocols.fields.portPlaceholder")}
            disabled={protocol === "ICMP"}
            value={protocol === "ICMP" ? "" : port}
            maxLength={11}
            onChange={({ currentTarget }) => replace({ port: currentTarget.value })}
            flex="1 1 120px"
          />
        </>
      )}
    </RepeatedRows>
  );
}
