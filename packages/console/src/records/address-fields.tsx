/** The fields of an address with its protocols, for the pages of resources and of addresses. */
import { t } from "../messages/i18n.ts";
import type { Field, Values } from "./form-fields.tsx";

interface Named {
  readonly id: string;
  readonly name: string;
}

/** @param protocols the current protocols, to show their names */
export function addressFields(protocols: readonly Named[] = []): readonly Field[] {
  const names = new Map(protocols.map(({ id, name }) => [id, name]));
  return [
    {
      kind: "text",
      name: "address",
      label: t("records.address.address"),
      description: t("records.address.help"),
      required: true,
      maxLength: 253,
    },
    {
      kind: "records",
      name: "protocols",
      label: t("records.address.protocols"),
      path: "/tenants/protocols",
      format: (id) => names.get(id) ?? id,
    },
  ];
}

export const newAddress: Values = { address: "", protocols: [] };
