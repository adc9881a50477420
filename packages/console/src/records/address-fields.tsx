/** An address with the protocols it is reached by, as resources' pages and that of addresses edit it. */
import type { Field, Values } from "./form-fields.tsx";

interface Named {
  readonly id: string;
  readonly name: string;
}

/** @param protocols that it has: they have names */
export function addressFields(protocols: readonly Named[] = []): readonly Field[] {
  const names = new Map(protocols.map(({ id, name }) => [id, name]));
  return [
    {
      kind: "text",
      name: "address",
      label: "Address",
      description: "An IP address, a CIDR, a host name, a domain, or *.domain.",
      required: true,
      maxLength: 253,
    },
    {
      kind: "records",
      name: "protocols",
      label: "Protocols",
      path: "/tenants/protocols",
      say: (id) => names.get(id) ?? id,
    },
  ];
}

export const newAddress: Values = { address: "", protocols: [] };
