/** Asks which gateway to connect to a resource. The page then shows the effect of the connection. */
import { Button, Group, Select, Stack } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { whole } from "../../app/api.ts";
import { t } from "../../messages/i18n.ts";
import { choosesFound } from "../../records/choose-found.ts";
import { Dialog } from "../../records/dialog.tsx";

interface Chosen {
  readonly id: string;
  readonly name: string;
}

interface ConnectGatewayProps {
  /** The name of the resource. */
  readonly resource: string;
  /** The ids of its gateways. */
  readonly connected: readonly string[];
  readonly connect: (gateway: Chosen) => void;
  readonly close: () => void;
}

export function ConnectGateway({ resource, connected, connect, close }: ConnectGatewayProps) {
  const source = whole("/tenants/gateways");
  const { data: gateways = [] } = useQuery({
    queryKey: [source.path, "list", undefined],
    queryFn: ({ signal }) => source.read(signal),
  });
  const [chosen, choose] = useState<string | null>(null);
  const gateway = gateways.find(({ id }) => id === chosen);
  return (
    <Dialog title={t("resources.gateways.connectTo", { resource })} onClose={close}>
      <Stack>
        <Select
          label={t("resources.gateways.gateway")}
          required
          searchable
          {...choosesFound}
          nothingFoundMessage={t("resources.gateways.noOther")}
          data={gateways
            .filter(({ id }) => !connected.includes(id))
            .map(({ id, name }) => ({ value: id, label: name }))}
          value={chosen}
          onChange={choose}
        />
        <Group justify="flex-end" className="form-actions">
          <Button variant="default" onClick={close}>
            {t("common.cancel")}
          </Button>
          <Button disabled={gateway === undefined} onClick={() => gateway !== undefined && connect(gateway)}>
            {t("common.review")}
          </Button>
        </Group>
      </Stack>
    </Dialog>
  );
}
