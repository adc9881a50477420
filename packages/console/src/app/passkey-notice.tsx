/** Whether passkeys work on this page, and a notice with the reason if they do not. */
import { Anchor } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { t } from "../messages/i18n.ts";
import { installationQuery } from "./installation.ts";
import { supportsPasskeys } from "./passkeys.ts";
import { Warning } from "./warning.tsx";

/** Whether passkeys work here: browsers accept them only on pages of the public address. */
export function usePasskeysWork(): boolean {
  return useOtherPlace() === "" && supportsPasskeys();
}

export function PasskeyNotice() {
  const place = useOtherPlace();
  if (place === undefined || (place === "" && supportsPasskeys())) return null;
  const { pathname, search, hash } = globalThis.location;
  return (
    <Warning>
      {place === "" ? (
        t("signIn.passkeys.unsupported")
      ) : (
        <>
          {t("signIn.passkeys.elsewhere")}{" "}
          <Anchor href={`${place}${pathname}${search}${hash}`} inherit underline="always">
            {place}
          </Anchor>
          .
        </>
      )}
    </Warning>
  );
}

/** The public address if this page has another one; empty if it has none; undefined while unknown. */
function useOtherPlace(): string | undefined {
  const { data } = useQuery({ ...installationQuery, enabled: typeof PublicKeyCredential === "function" });
  if (typeof PublicKeyCredential !== "function") return "";
  if (data === undefined) return undefined;
  return data.publicUrl === globalThis.location.origin ? "" : data.publicUrl;
}
