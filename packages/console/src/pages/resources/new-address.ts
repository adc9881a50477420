import { t } from "../../messages/i18n.ts";
export interface NewAddress {
  address: string;
  protocols: string[];
}

export function formatAddresses(addresses: readonly NewAddress[]): string {
  return addresses.map(({ address }) => address).join(", ") || t("common.none").toLowerCase();
}
