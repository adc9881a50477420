import type { ItemAt } from "@gatehouse/client/calls";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { paged, whole } from "../../app/api.ts";
import { usePermission } from "../../app/session.ts";
import type { ListDefinition } from "../../lists/list-definition.ts";
import { RecordList } from "../../lists/record-list.tsx";
import { t } from "../../messages/i18n.ts";
import { addressBody, addressFields, newAddress } from "../../records/address-fields.tsx";
import type { Field } from "../../records/form-fields.tsx";
import { NewButton } from "../../records/new-button.tsx";
import { idIn, RecordForm } from "../../records/record-form.tsx";
import { RecordLink } from "../../records/record-link.tsx";
import { RecordSelect } from "../../records/record-select.tsx";
import { formatResourceType } from "../resources/format-resource-type.ts";

const definition: ListDefinition<ItemAt<"/tenants/addresses">> = {
  source: whole("/tenants/addresses"),
  noun: t("addresses.noun"),
  search: { label: t("addresses.fields.address"), by: ({ address }) => address },
  defaultSort: "address",
  columns: [
    {
      key: "address",
      title: t("addresses.fields.address"),
      sortBy: ({ address }) => address,
      cell: ({ id, address }) => <RecordLink to={`/addresses/${id}`}>{address}</RecordLink>,
    },
    {
      key: "resource",
      title: t("addresses.fields.resource"),
      visibleFrom: "sm",
      cell: ({ id }) => <ResourceOfAddress id={id} />,
    },
    { key: "type", title: t("common.type"), sortBy: ({ type }) => type, cell: ({ type }) => formatResourceType(type) },
    {
      key: "kind",
      title: t("addresses.fields.kind"),
      visibleFrom: "xs",
      cell: ({ isIp }) => (isIp ? t("addresses.fields.kindIp") : t("addresses.fields.kindName")),
    },
    {
      key: "protocols",
      title: t("addresses.fields.protocols"),
      visibleFrom: "sm",
      cell: ({ protocols }) => protocols.map(({ name }) => name).join(", "),
    },
  ],
  filters: [
    {
      field: "type",
      title: t("common.type"),
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

const resources = paged("/tenants/resources");
const mostPages = 10;

/** Addresses do not say which resource they belong to. Resources list their addresses. */
function ResourceOfAddress({ id }: { readonly id: string }) {
  const canRead = usePermission("resources:read");
  const { data } = useQuery({
    queryKey: [resources.path, "of addresses"],
    enabled: canRead,
    staleTime: 60_000,
    queryFn: async ({ signal }) => {
      const owners = new Map<string, { readonly id: string; readonly name: string }>();
      for (let page = 0; page < mostPages; page++) {
        const { data: rows, total } = await resources.read({ sort: "name", limit: 100, offset: page * 100 }, signal);
        for (const resource of rows) for (const address of resource.addresses) owners.set(address.id, resource);
        if ((page + 1) * 100 >= total) break;
      }
      return owners;
    },
  });
  const owner = data?.get(id);
  if (owner === undefined) return null;
  return <RecordLink to={`/resources/${owner.id}`}>{owner.name}</RecordLink>;
}

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
              title={t("addresses.addTitle")}
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
