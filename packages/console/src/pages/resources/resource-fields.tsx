import type { ResultOf } from "@gatehouse/client/calls";
import type { Field, Values } from "../../records/form-fields.tsx";
import { AddressesField } from "./addresses-field.tsx";
import { formatAddresses, type NewAddress } from "./new-address.ts";

export type Resource = ResultOf<"/tenants/resources/{id}", "get">;

const name: Field = { kind: "text", name: "name", label: "Name", required: true };
const description: Field = { kind: "long-text", name: "description", label: "Description" };

/** Type and addresses are set once; addresses are then added and taken away one by one. */
export const editedFields: readonly Field[] = [name, description];

export const newFields: readonly Field[] = [
  name,
  {
    kind: "choice",
    name: "type",
    label: "Type",
    description: "Which list of policies decides on it.",
    options: [
      { value: "PRIVATE", label: "Private: on your own network" },
      { value: "SAAS", label: "SaaS: a service that lets in your gateways" },
      { value: "INTERNET", label: "Internet: anything public" },
    ],
  },
  {
    kind: "custom",
    name: "addresses",
    label: "Addresses",
    render: (props) => <AddressesField {...props} />,
    format: (value) => formatAddresses(value as readonly NewAddress[]), // as the field makes them
  },
  description,
];

export const newResource: Values = {
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

export function bodyOf(values: Values): ResourceBody {
  const { description = "", addresses, ...rest } = values as unknown as ResourceBody; // as the fields make them
  return {
    ...rest,
    addresses: addresses.filter(({ address }) => address.trim() !== ""),
    ...(description === "" ? {} : { description }),
  };
}
