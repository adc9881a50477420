import type { ResultOf } from "@gatehouse/client/calls";
import type { Field, Values } from "../../records/form-fields.tsx";

export type Gateway = ResultOf<"/tenants/gateways/{id}", "get">;

export const gatewayFields: readonly Field[] = [
  { kind: "text", name: "name", label: "Name", required: true },
  {
    kind: "text",
    name: "wireguardPort",
    label: "WireGuard port",
    description: "UDP, 1 to 65535.",
    required: true,
    maxLength: 5,
  },
  {
    kind: "text",
    name: "endpoint",
    label: "Endpoint",
    description: "Where devices reach it: a host name or an address. Empty: it finds out by itself.",
    placeholder: "gateway.example.com",
    maxLength: 253,
  },
  { kind: "long-text", name: "description", label: "Description" },
];

export const newGateway: Values = { name: "", wireguardPort: "51820", endpoint: "", description: "" };

export function gatewayValues({ name, wireguardPort, endpoint = "", description = "" }: Gateway): Values {
  return { name, wireguardPort, endpoint, description };
}

interface GatewayBody {
  name: string;
  wireguardPort: string;
  endpoint: string;
  description: string;
}

export function bodyOf(values: Values): GatewayBody {
  return values as unknown as GatewayBody; // as the fields make them
}
