/** Connects a gateway to a resource, after a review of the effect on access. */
import { Button, Group, Select, Stack } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { whole } from "../../app/api.ts";
import { t } from "../../messages/i18n.ts";
import { choosesFound } from "../../records/choose-found.ts";
import { Dialog } from "../../records/dialog.tsx";
import { type PlannedChange, sendChanges } from "../../records/planned-change.ts";
import { ReviewedChange } from "../../records/reviewed-change.tsx";
import type { Resource } from "./resource-fields.tsx";

interface Reviewed {
  readonly gateway: string;
  readonly changes: readonly PlannedChange[];
  /** The version of the resource that the change applies to. */
  readonly etag: string;
}

interface ConnectGatewayProps {
  readonly resource: Resource;
  readonly etag: string;
  readonly close: () => void;
}

export function ConnectGateway({ resource, etag, close }: ConnectGatewayProps) {
  const source = whole("/tenants/gateways");
  const { data: gateways = [] } = useQuery({
    queryKey: [source.path, "list", undefined],
    queryFn: ({ signal }) => source.read(signal),
  });
  const [chosen, choose] = useState<string | null>(null);
  const [reviewed, review] = useState<Reviewed>();
  const { id, name, loadBalancingMode } = resource;
  const connected = resource.gateways.map((gateway) => gateway.id);
  const gateway = gateways.find((one) => one.id === chosen);
  const startReview = () => {
    if (gateway === undefined) return;
    const body = { loadBalancingMode, gateways: [...connected, gateway.id] };
    const changes: readonly PlannedChange[] = [
      { method: "POST", path: `/tenants/resources/${id}/loadBalancing`, body },
    ];
    review({ gateway: gateway.name, changes, etag });
  };
  if (reviewed !== undefined) {
    return (
      <Dialog
        title={t("resources.gateways.connectTitle", { gateway: reviewed.gateway, resource: name })}
        onClose={close}
      >
        <ReviewedChange
          changes={reviewed.changes}
          label={t("resources.gateways.connect", { name: reviewed.gateway })}
          backLabel={t("records.form.back")}
          back={() => review(undefined)}
          run={(overrideReason) => sendChanges(reviewed.changes, { overrideReason, etag: reviewed.etag })}
          done={close}
          savedMessage={t("resources.gateways.saved")}
        />
      </Dialog>
    );
  }
  return (
    <Dialog title={t("resources.gateways.connectTo", { resource: name })} onClose={close}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          startReview();
        }}
      >
        <Stack>
          <Select
            label={t("resources.gateways.gateway")}
            required
            searchable
            {...choosesFound}
            nothingFoundMessage={t("resources.gateways.noOther")}
            data={gateways
              .filter((one) => !connected.includes(one.id))
              .map((one) => ({ value: one.id, label: one.name }))}
            value={chosen}
            onChange={choose}
          />
          <Group justify="flex-end" className="form-actions">
            <Button variant="default" onClick={close}>
              {t("common.cancel")}
            </Button>
            <Button type="submit" disabled={gateway === undefined}>
              {t("common.review")}
            </Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  );
}
