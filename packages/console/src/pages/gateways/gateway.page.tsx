import { Button, Menu } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useNavigate, useParams } from "@tanstack/react-router";
import { api } from "../../app/api.ts";
import { useMay } from "../../app/session.ts";
import { DeleteRecord } from "../../records/delete-record.tsx";
import { Moment } from "../../records/moment.tsx";
import { RecordForm } from "../../records/record-form.tsx";
import { RecordLinks } from "../../records/record-link.tsx";
import { Facts, Panel, RecordPage } from "../../records/record-page.tsx";
import { StatusOf } from "../../records/status.tsx";
import { readRecord, useAction, useRecord } from "../../records/use-record.ts";
import { DeployCommand } from "./deploy-command.tsx";
import { bodyOf, type Gateway, gatewayFields, gatewayValues } from "./gateway-fields.ts";
import { GatewaySyncPanel } from "./gateway-sync.tsx";

const path = "/tenants/gateways/{id}";

/** It turns green by itself when it connects: somebody waits for that, so it is looked at often. */
const refreshMs = 2_000;

export function GatewayPage() {
  const { id = "" } = useParams({ strict: false });
  const { data, error, refetch } = useRecord(path, id, refreshMs);
  const gateway = data?.record;
  return (
    <RecordPage
      list={{ to: "/gateways", title: "Gateways" }}
      title={gateway?.name}
      status={
        gateway && (
          <span aria-live="polite">
            <StatusOf value={gateway.status} />
          </span>
        )
      }
      actions={data && <Actions gateway={data.record} etag={data.etag} />}
      error={error}
      retry={refetch}
    >
      {gateway && <About gateway={gateway} />}
    </RecordPage>
  );
}

function About({ gateway }: { readonly gateway: Gateway }) {
  const deployment = (
    <Panel title="Deploy">
      <DeployCommand gateway={gateway} />
    </Panel>
  );
  return (
    <>
      {gateway.status === "PENDING" ? deployment : <GatewaySyncPanel id={gateway.id} refreshMs={refreshMs} />}
      <Panel title="About">
        <Facts
          facts={[
            { label: "Description", value: gateway.description },
            { label: "Endpoint", value: gateway.endpoint ?? "Found by itself" },
            { label: "WireGuard port", value: gateway.wireguardPort },
            { label: "Relays traffic", value: gateway.relayEnabled === true ? "Yes" : "No" },
            { label: "Last online", value: <Moment at={gateway.lastOnline} /> },
            { label: "Deployed", value: <Moment at={gateway.deployedOn} never="Not yet" /> },
            { label: "Created", value: <Moment at={gateway.createdAt} /> },
          ]}
        />
      </Panel>
      <Panel title={`Resources (${gateway.resources?.length ?? 0})`}>
        <RecordLinks
          path="resources"
          records={gateway.resources ?? []}
          none="None. Connect it on the page of a resource."
        />
      </Panel>
      {gateway.status !== "PENDING" && deployment}
    </>
  );
}

function Actions({ gateway, etag }: { readonly gateway: Gateway; readonly etag: string }) {
  const may = useMay("gateways:write");
  const navigate = useNavigate();
  const [editing, { open, close }] = useDisclosure(false);
  const given = { path: { id: gateway.id } };
  const enter = useAction({
    run: () => api.post("/tenants/gateways/{id}/enter-maintenance", given),
    done: "In maintenance: no traffic is sent through it.",
  });
  const exit = useAction({
    run: () => api.post("/tenants/gateways/{id}/exit-maintenance", given),
    done: "Back in service",
  });
  const relay = useAction({
    run: () => api.post("/tenants/gateways/{id}/enable-relay", given),
    done: "It relays traffic",
  });
  const noRelay = useAction({
    run: () => api.post("/tenants/gateways/{id}/disable-relay", given),
    done: "It relays no traffic",
  });
  const rotate = useAction({
    run: () => api.post("/tenants/gateways/{id}/rotate-token", given),
    done: "A new token. The one before goes on working for a day.",
  });
  if (!may) return null;
  return (
    <>
      <Menu position="bottom-end">
        <Menu.Target>
          <Button variant="default">More</Button>
        </Menu.Target>
        <Menu.Dropdown>
          {gateway.status === "MAINTENANCE" ? (
            <Menu.Item onClick={() => exit.mutate()}>End maintenance</Menu.Item>
          ) : (
            <Menu.Item onClick={() => enter.mutate()}>Begin maintenance</Menu.Item>
          )}
          {gateway.relayEnabled === true ? (
            <Menu.Item onClick={() => noRelay.mutate()}>Stop relaying</Menu.Item>
          ) : (
            <Menu.Item onClick={() => relay.mutate()}>Let it relay</Menu.Item>
          )}
          <Menu.Item onClick={() => rotate.mutate()}>Make a new token</Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <DeleteRecord
        what={`gateway ${gateway.name}`}
        effect={`Its ${gateway.resources?.length ?? 0} resources are no longer reached through it, and its token stops working. This cannot be undone.`}
        run={() => api.delete(path, { ...given, ifMatch: etag })}
        done={() => void navigate({ to: "/gateways" })}
      />
      <Button onClick={open}>Edit</Button>
      {editing && (
        <RecordForm
          title={`Edit ${gateway.name}`}
          fields={gatewayFields}
          initial={gatewayValues(gateway)}
          submitLabel="Save"
          submit={(values, ifMatch) => api.put(path, { ...given, body: bodyOf(values), ifMatch })}
          close={close}
          edits={{
            etag,
            reread: async () => {
              const stored = await readRecord(path, gateway.id);
              return { values: gatewayValues(stored.record), etag: stored.etag };
            },
          }}
        />
      )}
    </>
  );
}
