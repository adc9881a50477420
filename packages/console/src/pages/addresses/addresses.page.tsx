import type { ItemAt } from "@gatehouse/client/calls";
import { useNavigate } from "@tanstack/react-router";
import { inParts } from "../../app/api.ts";
import type { ListDefinition } from "../../lists/list-definition.ts";
import { RecordList } from "../../lists/record-list.tsx";
import { t } from "../../messages/i18n.ts";
import { addressBody, addressFields, newAddress } from "../../records/address-fields.tsx";
import type { Field } from "../../records/form-fields.tsx";
import { Kind } from "../../records/kind-icon.tsx";
import { NewButton } from "../../records/new-button.tsx";
import { idIn, RecordForm } from "../../records/record-form.tsx";
import { RecordLink, RecordLinks } from "../../records/record-link.tsx";
import { RecordSelect } from "../../records/record-select.tsx";
import { formatResourceType } from "../resources/format-resource-type.ts";
import { formatAddressKind } from "./format-address-kind.ts";
import { ResourceOfAddress } from "./resource-of-address.tsx";

/** More protocols may wrap. */
const onOneLine = 3;

const definition: ListDefinition<ItemAt<"/tenants/addresses">> = {
  source: inParts("/tenants/addresses"),
  noun: t("addresses.noun"),
  shortSort: "address",
  search: { label: t("addresses.fields.address"), by: ({ address }) => address },
  columns: [
    {
      key: "address",
      title: t("addresses.fields.address"),
      sortBy: ({ address }) => address,
      cell: ({ id, address }) => (
        <Kind of="addresses">
          <RecordLink to={`/addresses/${id}`}>{address}</RecordLink>
        </Kind>
      ),
    },
    {
      key: "resource",
      title: t("addresses.fields.resource"),
      isBelow: true,
      cell: ({ id }) => <ResourceOfAddress id={id} />,
    },
    {
      key: "type",
      title: t("addresses.fields.resourceType"),
      visibleFrom: "sm",
      sortBy: ({ type }) => type,
      cell: ({ type }) => formatResourceType(type),
    },
    {
      key: "kind",
      title: t("addresses.fields.kind"),
      sortBy: formatAddressKind,
      visibleFrom: "lg",
      cell: (address) => <span className="one-line">{formatAddressKind(address)}</span>,
    },
    {
      key: "protocols",
      title: t("addresses.fields.protocols"),
      isBelow: true,
      cell: ({ protocols }) => (
        <span {...(protocols.length <= onOneLine ? { className: "one-line" } : {})}>
          <RecordLinks path="protocols" records={protocols} />
        </span>
      ),
    },
  ],
  filters: [
    {
      field: "type",
      title: t("addresses.fields.resourceType"),
      options: (["PRIVATE", "SAAS", "INTERNET"] as const).map((value) => ({ value, label: formatResourceType(value) })),
      matches: ({ type }, value) => type === value,
    },
  ],
  empty: {
    title: t("addresses.empty.title"),
    text: t("addresses.empty.text"),
    action: { label: t("addresses.add"), to: "/addresses?new=1", permission: "resources:write" },
    guide: "glossary#records",
  },
};

/** An address belongs to a resource, which the form asks for first. */
const fields: readonly Field[] = [
  {
    kind: "custom",
    name: "resource",
    label: t("addresses.fields.resource"),
    required: true,
    render: ({ value, onChange, error }) => (
      <RecordSelect
        path="/tenants/resources"
        label={t("addresses.fields.resource")}
        required
        value={String(value)}
        onChange={onChange}
        error={error}
      />
    ),
    format: (value) => String(value),
  },
  ...addressFields(undefined),
];

export function AddressesListPage() {
  const navigate = useNavigate();
  return (
    <RecordList
      title={t("addresses.title")}
      definition={definition}
      actions={
        <NewButton
          label={t("addresses.add")}
          permission="resources:write"
          dialog={(close) => (
            <RecordForm
              title={t("addresses.add")}
              fields={fields}
              initial={{ ...newAddress, resource: "" }}
              submitLabel={t("addresses.submit")}
              plan={({ resource, ...values }) => [
                {
                  method: "POST",
                  path: `/tenants/resources/${String(resource)}/addresses`,
                  body: addressBody(values),
                },
              ]}
              saved={(answer) => void navigate({ to: `/addresses/${idIn(answer)}` })}
              close={close}
            />
          )}
        />
      }
    />
  );
}
