import { compareText } from "../messages/format.ts";

/** The gateways of a resource in order of priority. The order has no meaning if devices are spread over them. */
export function orderGateways<Gateway extends { readonly name: string }>(
  gateways: readonly Gateway[],
  mode: "MANUAL" | "AUTOMATIC",
): readonly Gateway[] {
  return mode === "MANUAL" ? gateways : [...gateways].sort((one, other) => compareText(one.name, other.name));
}
