import type { ResultOf } from "@gatehouse/client/calls";
import { t } from "../../messages/i18n.ts";
import { type Field, nameField, type Values } from "../../records/form-fields.tsx";

export type Gateway = ResultOf<"/tenants/gateways/{id}", "get">;

/**
 * Whether an agent has connected, even if it has applied no configuration. A gateway in maintenance may never have
 * connected.
 */
export function isDeployed({ status, deployedOn, lastOnline }: Gateway): boolean {
  return status !== "PENDING" && (deployedOn !== null || lastOnline !== undefined);
}

export const gatewayFields: readonly Field[] = [
  nameField(t("gateways.fields.nameExample")),
  {
    kind: "text",
    name: "wireguardPort",
    label: t("gateways.fields.port"),
    description: t("gateways.fields.portHelp"),
    required: true,
    maxLength: 5,
  },
  {
    kind: "text",
    name: "endpoint",
    label: t("gateways.fields.endpoint"),
    description: t("gateways.fields.endpointHelp"),
    example: "gateway.example.com",
    maxLength: 253,
  },
  { kind: "long-text", name: "description", label: t("common.description") },
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
  return values as unknown as GatewayBody; // `gatewayFields` declares these types
}
