import { Button, Menu } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useNavigate, useParams } from "@tanstack/react-router";
import { useState } from "react";
import { usePermission } from "../../app/session.ts";
import { DeleteRecord } from "../../records/delete-record.tsx";
import { RecordForm } from "../../records/record-form.tsx";
import { RecordLinks } from "../../records/record-link.tsx";
import { Facts, Panel, RecordPage } from "../../records/record-page.tsx";
import { RelativeTime } from "../../records/relative-time.tsx";
import { ReviewDialog } from "../../records/reviewed-change.tsx";
import { StatusOf } from "../../records/status.tsx";
import { readRecord, useRecord } from "../../records/use-record.ts";
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
            { label: "Last online", value: <RelativeTime at={gateway.lastOnline} /> },
            { label: "Deployed", value: <RelativeTime at={gateway.deployedOn} never="Not yet" /> },
            { label: "Created", value: <RelativeTime at={gateway.createdAt} /> },
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

interface Step {
  readonly label: string;
  readonly verb: string;
  readonly note: string;
  readonly said: string;
  readonly changesAccess?: boolean;
}

const steps = {
  enter: {
    label: "Begin maintenance",
    verb: "enter-maintenance",
    note: "No traffic is sent through it until its maintenance ends. Connections that run through it are cut.",
    said: "In maintenance: no traffic is sent through it.",
  },
  exit: {
    label: "End maintenance",
    verb: "exit-maintenance",
    note: "It takes traffic again as soon as it is online.",
    said: "Back in service",
  },
  relay: {
    label: "Let it relay",
    verb: "enable-relay",
    note: "Traffic between devices and other gateways may then go through it.",
    said: "It relays traffic",
  },
  noRelay: {
    label: "Stop relaying",
    verb: "disable-relay",
    note: "Devices and gateways that cannot reach each other by themselves no longer do so through it.",
    said: "It relays no traffic",
  },
  rotate: {
    label: "Make a new token",
    verb: "rotate-token",
    note: "The token before goes on working for a day: bring the new one to the gateway until then.",
    said: "A new token. The one before goes on working for a day.",
    changesAccess: false,
  },
} as const satisfies Readonly<Record<string, Step>>;

function Actions({ gateway, etag }: { readonly gateway: Gateway; readonly etag: string }) {
  const canWrite = usePermission("gateways:write");
  const navigate = useNavigate();
  const [editing, { open, close }] = useDisclosure(false);
  const at = `/tenants/gateways/${gateway.id}`;
  const [step, setStep] = useState<Step>();
  if (!canWrite) return null;
  return (
    <>
      <Menu position="bottom-end">
        <Menu.Target>
          <Button variant="default">More</Button>
        </Menu.Target>
        <Menu.Dropdown>
          {gateway.status === "MAINTENANCE" ? (
            <Menu.Item onClick={() => setStep(steps.exit)}>End maintenance</Menu.Item>
          ) : (
            <Menu.Item onClick={() => setStep(steps.enter)}>Begin maintenance</Menu.Item>
          )}
          {gateway.relayEnabled === true ? (
            <Menu.Item onClick={() => setStep(steps.noRelay)}>Stop relaying</Menu.Item>
          ) : (
            <Menu.Item onClick={() => setStep(steps.relay)}>Let it relay</Menu.Item>
          )}
          <Menu.Item onClick={() => setStep(steps.rotate)}>Make a new token</Menu.Item>
        </Menu.Dropdown>
      </Menu>
      {step !== undefined && (
        <ReviewDialog
          title={`${step.label}: ${gateway.name}`}
          note={step.note}
          changes={[{ method: "POST", path: `${at}/${step.verb}` }]}
          changesAccess={step.changesAccess ?? true}
          etag={etag}
          label={step.label}
          doneMessage={step.said}
          close={() => setStep(undefined)}
        />
      )}
      <DeleteRecord
        title={`Delete gateway ${gateway.name}?`}
        effect={`Its ${gateway.resources?.length ?? 0} resources are no longer reached through it, and its token stops working. Made anew from its event, it would have another id.`}
        path={at}
        etag={etag}
        done={() => void navigate({ to: "/gateways" })}
      />
      <Button onClick={open}>Edit</Button>
      {editing && (
        <RecordForm
          title={`Edit ${gateway.name}`}
          fields={gatewayFields}
          initial={gatewayValues(gateway)}
          submitLabel="Save"
          plan={(values) => [{ method: "PUT", path: at, body: bodyOf(values) }]}
          close={close}
          edits={{
            etag,
            reload: async () => {
              const stored = await readRecord(path, gateway.id);
              return { values: gatewayValues(stored.record), etag: stored.etag };
            },
          }}
        />
      )}
    </>
  );
}
