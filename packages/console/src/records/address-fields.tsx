/** The fields of an address with its protocols, for the pages of resources and of addresses. */
import { t } from "../messages/i18n.ts";
import type { Field, Values } from "./form-fields.tsx";

interface Named {
  readonly id: string;
  readonly name: string;
}

/**
 * @param type the type of the resource; undefined if it is not known yet. Only private names have limits of answers
 * @param protocols the current protocols, to show their names
 */
export function addressFields(type: "PRIVATE" | "SAAS" | "INTERNET" | undefined, protocols: readonly Named[] = []) {
  const names = new Map(protocols.map(({ id, name }) => [id, name]));
  const fields: readonly Field[] = [
    {
      kind: "text",
      name: "address",
      label: t("records.address.address"),
      description: t("records.address.help"),
      example: "wiki.internal",
      required: true,
      maxLength: 253,
    },
    {
      kind: "records",
      name: "protocols",
      label: t("records.address.protocols"),
      description: t("records.address.protocolsHelp"),
      path: "/tenants/protocols",
      format: (id) => names.get(id) ?? id,
    },
  ];
  const answersWithin: Field = {
    kind: "words",
    name: "answersWithin",
    label: t("records.address.answersWithin"),
    description: t("records.address.answersWithinHelp"),
    example: "192.0.2.0/24",
  };
  return type === undefined || type === "PRIVATE" ? [...fields, answersWithin] : fields;
}

export const newAddress: Values = { address: "", protocols: [], answersWithin: [] };

/** The body of a request. Without blocks, the default applies. */
export function addressBody(values: Values): Values {
  const { answersWithin } = values as { readonly answersWithin: readonly string[] }; // as the field makes it
  return { ...values, answersWithin: answersWithin.length === 0 ? null : answersWithin };
}
