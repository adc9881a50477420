import { parseAddressText } from "@gatehouse/policy/addresses/address-text";

export type EndpointCheck =
  | {
      readonly ok: true;
      /** In canonical form; `""` where devices discover the endpoint by themselves. */
      readonly endpoint: string;
    }
  | { readonly ok: false; readonly message: string };

/** Checks where devices connect to: nothing, a host name or an IP address. The port is a field of its own. */
export function checkEndpoint(text: string): EndpointCheck {
  if (text === "") return { ok: true, endpoint: "" };
  if (/^(\[.*\]|[^:]+):\d+$/.test(text)) {
    return { ok: false, message: "has a port; write the address alone, the port goes into wireguardPort" };
  }
  const reading = parseAddressText(text);
  if (!reading.ok) return { ok: false, message: reading.problem };
  const { kind, text: endpoint } = reading.value;
  if (kind === "cidr") return { ok: false, message: `${endpoint} is a block of addresses; write one address of it` };
  if (kind === "wildcard") return { ok: false, message: `${endpoint} is many names; write one host name` };
  return { ok: true, endpoint };
}
