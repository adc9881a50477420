import type { ResultOf } from "@gatehouse/client/calls";
import { Button, Code, Text } from "@mantine/core";
import { useNavigate, useParams } from "@tanstack/react-router";
import { api } from "../../app/api.ts";
import { useMay } from "../../app/session.ts";
import { DeleteRecord } from "../../records/delete-record.tsx";
import { Moment } from "../../records/moment.tsx";
import { RecordLink } from "../../records/record-link.tsx";
import { Facts, Panel, RecordPage } from "../../records/record-page.tsx";
import { StatusOf } from "../../records/status.tsx";
import { useAction, useRecord } from "../../records/use-record.ts";

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
                { label: "Last connection", value: <Moment at={device.lastConnection} /> },
                { label: "Enrolled", value: <Moment at={device.createdAt} /> },
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
  const may = useMay("devices:write");
  const navigate = useNavigate();
  const given = { path: { id: device.id } };
  const deactivate = useAction({
    run: () => api.patch("/tenants/devices/{id}/deactivate", given),
    done: "Deactivated. The device is cut off.",
  });
  const reactivate = useAction({ run: () => api.post("/tenants/devices/{id}/reactivate", given), done: "Reactivated" });
  if (!may) return null;
  return (
    <>
      <DeleteRecord
        what={`device ${device.name}`}
        effect="The device is cut off and has to be enrolled anew; policies no longer name it. This cannot be undone."
        run={() => api.delete(path, { ...given, ifMatch: etag })}
        done={() => void navigate({ to: "/devices" })}
      />
      {device.active ? (
        <Button variant="default" loading={deactivate.isPending} onClick={() => deactivate.mutate()}>
          Deactivate
        </Button>
      ) : (
        <Button variant="default" loading={reactivate.isPending} onClick={() => reactivate.mutate()}>
          Reactivate
        </Button>
      )}
    </>
  );
}
