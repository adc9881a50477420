/** Creates a gateway, shows how to deploy it, and then whether it enforces the configuration. */
import { Button, Group, Skeleton, Stack, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { api, whole } from "../../../app/api.ts";
import { ProblemNotice } from "../../../app/problem-notice.tsx";
import { t } from "../../../messages/i18n.ts";
import { RecordLink } from "../../../records/record-link.tsx";
import { StatusOf } from "../../../records/status.tsx";
import { useAction, useRecord } from "../../../records/use-record.ts";
import { DeployCommand } from "../../gateways/deploy-command.tsx";
import { newGateway } from "../../gateways/gateway-fields.ts";
import { GatewaySyncPanel } from "../../gateways/gateway-sync.tsx";

const gateways = whole("/tenants/gateways");

/** Short, because people wait for the gateway to connect. */
const refreshMs = 2_000;

export function GatewayStep() {
  const { data, error, refetch } = useQuery({
    queryKey: [gateways.path, "list", undefined],
    queryFn: ({ signal }) => gateways.read(signal),
  });
  if (error !== null) return <ProblemNotice error={error} retry={refetch} />;
  if (data === undefined) return <Skeleton height={120} aria-busy />;
  // A connected gateway completes the step. If none is connected, show a gateway that was never deployed.
  const shown = ["ONLINE", "PENDING"]
    .map((status) => data.find((gateway) => gateway.status === status))
    .find((gateway) => gateway !== undefined);
  const [first] = data;
  const id = (shown ?? first)?.id;
  return id === undefined ? <NewGateway /> : <Deployment id={id} />;
}

function NewGateway() {
  const [name, setName] = useState("");
  const create = useAction({
    run: () =>
      api.post("/tenants/gateways", {
        body: { name: name.trim(), wireguardPort: String(newGateway.wireguardPort) },
      }),
    done: t("overview.firstSteps.gateway.created"),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    create.mutate();
  };
  return (
    <form onSubmit={submit}>
      <Group align="flex-end" gap="sm">
        <TextInput
          label={t("common.name")}
          placeholder={t("common.example", { value: t("gateways.fields.nameExample") })}
          value={name}
          onChange={({ currentTarget }) => setName(currentTarget.value)}
          maxLength={120}
          required
          autoFocus
          flex={{ base: "0 0 100%", xs: "none" }}
        />
        <Button type="submit" className="phone-wide" loading={create.isPending}>
          {t("gateways.create")}
        </Button>
      </Group>
    </form>
  );
}

function Deployment({ id }: { readonly id: string }) {
  const { data, error, refetch } = useRecord("/tenants/gateways/{id}", id, refreshMs);
  if (error !== null) return <ProblemNotice error={error} retry={refetch} />;
  if (data === undefined) return <Skeleton height={120} aria-busy />;
  const { record: gateway } = data;
  return (
    <Stack gap="sm">
      <Group gap="sm">
        <RecordLink to={`/gateways/${id}`}>{gateway.name}</RecordLink>
        <span aria-live="polite">
          <StatusOf value={gateway.status} />
        </span>
      </Group>
      {gateway.status === "PENDING" ? (
        <DeployCommand gateway={gateway} />
      ) : (
        <GatewaySyncPanel id={id} refreshMs={refreshMs} />
      )}
    </Stack>
  );
}
