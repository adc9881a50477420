import type { ResultOf } from "@gatehouse/client/calls";
import { Code, Text } from "@mantine/core";
import { useNavigate, useParams } from "@tanstack/react-router";
import { usePermission } from "../../app/session.ts";
import { DeleteRecord } from "../../records/delete-record.tsx";
import { RecordLink } from "../../records/record-link.tsx";
import { Facts, Panel, RecordPage } from "../../records/record-page.tsx";
import { RelativeTime } from "../../records/relative-time.tsx";
import { ReviewedButton } from "../../records/reviewed-change.tsx";
import { StatusOf } from "../../records/status.tsx";
import { useRecord } from "../../records/use-record.ts";

const path = "/tenants/devices/{id}";
type Device = ResultOf<typeof path, "get">;

export function DevicePage() {
  const { id = "" } = useParams({ strict: false });
  const { data, error, refetch } = useRecord(path, id, 30_000);
  const device = data?.record;
  return (
    <RecordPage
      list={{ to: "/devices", title: "Devices" }}
      title={device?.name}
      status={device && <StatusOf value={device.status} />}
      actions={data && <Actions device={data.record} etag={data.etag} />}
      error={error}
      retry={refetch}
    >
      {device && (
        <>
          <Panel title="About">
            <Facts
              facts={[
                {
                  label: "User",
                  value: device.user && <RecordLink to={`/users/${device.user.id}`}>{device.user.email}</RecordLink>,
                },
                { label: "System", value: [device.os, device.osVersion].filter(Boolean).join(" ") },
                { label: "Agent", value: device.appVersion },
                { label: "Hardware", value: <Code>{device.hardwareId}</Code> },
                { label: "Public key", value: <Code>{device.publicKey}</Code> },
                { label: "Last connection", value: <RelativeTime at={device.lastConnection} /> },
                { label: "Enrolled", value: <RelativeTime at={device.createdAt} /> },
              ]}
            />
          </Panel>
          <Panel title="Posture">
            {Object.keys(device.posture ?? {}).length === 0 ? (
              <Text c="dimmed">The device has reported nothing about its security.</Text>
            ) : (
              <Facts
                facts={Object.entries(device.posture ?? {}).map(([label, value]) => ({ label, value: String(value) }))}
              />
            )}
          </Panel>
        </>
      )}
    </RecordPage>
  );
}

function Actions({ device, etag }: { readonly device: Device; readonly etag: string }) {
  const canWrite = usePermission("devices:write");
  const navigate = useNavigate();
  const at = `/tenants/devices/${device.id}`;
  if (!canWrite) return null;
  return (
    <>
      <DeleteRecord
        title={`Delete device ${device.name}?`}
        effect="The device is cut off and has to be enrolled anew; policies no longer name it. Made anew from its event, it would have another id."
        path={at}
        etag={etag}
        done={() => void navigate({ to: "/devices" })}
      />
      {device.active ? (
        <ReviewedButton
          key="deactivate"
          label="Deactivate"
          title={`Deactivate device ${device.name}?`}
          note="It is cut off at once. Its record stays, in policies too, and can be reactivated."
          changes={[{ method: "PATCH", path: `${at}/deactivate` }]}
          etag={etag}
          doneMessage="Deactivated. The device is cut off."
          danger
        />
      ) : (
        device.user !== undefined && (
          <ReviewedButton
            key="reactivate"
            label="Reactivate"
            title={`Reactivate device ${device.name}?`}
            note="It reaches again what policies allow, unless its user is deactivated."
            changes={[{ method: "POST", path: `${at}/reactivate` }]}
            etag={etag}
            doneMessage="Reactivated"
          />
        )
      )}
    </>
  );
}
