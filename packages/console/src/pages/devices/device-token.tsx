/** Rotates the token with which the device's agent authenticates its link. */
import type { ResultOf } from "@gatehouse/client/calls";
import { useState } from "react";
import { t } from "../../messages/i18n.ts";
import { ReviewedButton } from "../../records/reviewed-change.tsx";
import { SecretOnce } from "../../records/secret-once.tsx";

type Token = ResultOf<"/tenants/devices/{id}/rotate-token", "post">;

interface DeviceTokenProps {
  readonly device: { readonly id: string; readonly name: string };
  readonly etag: string;
}

export function RotateDeviceToken({ device, etag }: DeviceTokenProps) {
  const [token, setToken] = useState<string>();
  return (
    <>
      <ReviewedButton
        label={t("devices.token.label")}
        title={t("devices.token.title", { name: device.name })}
        note={t("devices.token.note")}
        changes={[{ method: "POST", path: `/tenants/devices/${device.id}/rotate-token` }]}
        changesAccess={false}
        etag={etag}
        danger
        done={(answer) => setToken((answer as Token).token)} // the response to this request
        doneMessage={t("devices.token.done")}
      />
      {token !== undefined && (
        <SecretOnce
          title={t("devices.token.shown", { name: device.name })}
          secret={token}
          copyLabel={t("records.secret.copyToken")}
          close={() => setToken(undefined)}
        >
          {t("devices.token.text")}
        </SecretOnce>
      )}
    </>
  );
}
