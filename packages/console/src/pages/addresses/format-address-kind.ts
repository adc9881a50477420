import { t } from "../../messages/i18n.ts";

interface Address {
  readonly address: string;
  readonly isIp: boolean;
}

/** Such as "Network" for 10.0.0.0/16. */
export function formatAddressKind({ address, isIp }: Address): string {
  if (isIp) return address.includes("/") ? t("addresses.fields.kindNetwork") : t("addresses.fields.kindIp");
  return address.startsWith("*.") ? t("addresses.fields.kindWildcard") : t("addresses.fields.kindName");
}
