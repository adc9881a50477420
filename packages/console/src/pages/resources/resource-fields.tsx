import type { ResultOf } from "@gatehouse/client/calls";
import { t } from "../../messages/i18n.ts";
import { type Field, nameField, type Values } from "../../records/form-fields.tsx";
import type { PlannedChange } from "../../records/planned-change.ts";
import { AddressesField } from "./addresses-field.tsx";
import { formatAddresses, type NewAddress } from "./new-address.ts";

export type Resource = ResultOf<"/tenants/resources/{id}", "get">;

const name = nameField(t("resources.nameExample"));
const description: Field = { kind: "long-text", name: "description", label: t("common.description") };

/** The type of a resource never changes. Its addresses are added and removed one at a time. */
export const editedFields: readonly Field[] = [name, description];

const typeField: Field = {
  kind: "choice",
  name: "type",
  label: t("common.type"),
  description: t("resources.typeHelp"),
  options: [
    { value: "PRIVATE", label: t("resources.typeOptions.PRIVATE") },
    { value: "SAAS", label: t("resources.typeOptions.SAAS") },
    { value: "INTERNET", label: t("resources.typeOptions.INTERNET") },
  ],
};

const addressesField: Field = {
  kind: "custom",
  name: "addresses",
  label: t("resources.addresses.label"),
  render: (props) => <AddressesField {...props} />,
  format: (value) => formatAddresses(value as readonly NewAddress[]), // as the field makes them
};

const gatewaysField: Field = {
  kind: "records",
  name: "gateways",
  label: t("resources.gateways.label"),
  description: t("resources.gateways.help"),
  path: "/tenants/gateways",
};

/**
 * The addresses are a part of the form with a heading, so that single fields come before them.
 *
 * @param canReadGateways without the permission, the form does not offer gateways
 */
export function newFields(canReadGateways: boolean): readonly Field[] {
  return [name, typeField, ...(canReadGateways ? [gatewaysField] : []), addressesField, description];
}

export const newResource: Values = {
  gateways: [],
  name: "",
  type: "PRIVATE",
  addresses: [{ address: "", protocols: [] }] satisfies NewAddress[],
  description: "",
};

export function resourceValues({ name, description = "" }: Resource): Values {
  return { name, description };
}

interface ResourceBody {
  name: string;
  type: "PRIVATE" | "SAAS" | "INTERNET";
  addresses: NewAddress[];
  description?: string;
}

function bodyOf(values: Values): ResourceBody {
  const { name, type, description = "", addresses } = values as unknown as ResourceBody; // as the fields make them
  return {
    name,
    type,
    addresses: addresses.filter(({ address }) => address.trim() !== ""),
    ...(description === "" ? {} : { description }),
  };
}

/** The requests that create a resource, and connect its gateways in the order in which they were selected. */
export function newResourceChanges(values: Values): readonly PlannedChange[] {
  const gateways = values.gateways as readonly string[]; // as the field makes them
  const create = { method: "POST", path: "/tenants/resources", body: bodyOf(values) } as const;
  if (gateways.length === 0) return [create];
  // The mode of a new resource.
  const body = { loadBalancingMode: "MANUAL", gateways };
  return [
    { ...create, as: "resource" },
    { method: "POST", path: "/tenants/resources/@resource/loadBalancing", body },
  ];
}
