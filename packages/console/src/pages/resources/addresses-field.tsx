/** The addresses of a new resource, each with its protocols. */
import { TextInput } from "@mantine/core";
import { t } from "../../messages/i18n.ts";
import type { CustomFieldProps } from "../../records/form-fields.tsx";
import { RecordPicker } from "../../records/record-picker.tsx";
import { RepeatedRows } from "../../records/repeated-rows.tsx";
import type { NewAddress } from "./new-address.ts";

export function AddressesField({ value, onChange, error }: CustomFieldProps) {
  return (
    <RepeatedRows
      legend={t("resources.addresses.label")}
      description={`${t("records.address.help")} ${t("resources.addresses.protocolsHelp")}`}
      rows={value as readonly NewAddress[]} // as this field makes them
      onChange={onChange}
      error={error}
      addLabel={t("resources.addresses.another")}
      newRow={{ address: "", protocols: [] }}
      removeLabel={(number) => t("resources.addresses.removeField", { number })}
    >
      {({ address, protocols }, number, replace) => (
        <>
          <TextInput
            label={number === undefined ? t("resources.addresses.address") : t("resources.addresses.field", { number })}
            placeholder={t("common.example", { value: "wiki.internal" })}
            value={address}
            onChange={({ currentTarget }) => replace({ address: currentTarget.value })}
            flex="1 1 200px"
            maxLength={253}
          />
          <div style={{ flex: "1 1 200px", minWidth: 0 }}>
            <RecordPicker
              path="/tenants/protocols"
              label={
                number === undefined
                  ? t("resources.addresses.protocols")
                  : t("resources.addresses.protocolsOfField", { number })
              }
              value={protocols}
              onChange={(ids) => replace({ protocols: [...ids] })}
            />
          </div>
        </>
      )}
    </RepeatedRows>
  );
}
