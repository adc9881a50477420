/** The settings of a gateway's site: resolvers, domains, networks and the port on which relays accept its packets. */
import type { ResultOf } from "@gatehouse/client/calls";
import { Button, Skeleton, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { ProblemNotice } from "../../app/problem-notice.tsx";
import { usePermission } from "../../app/session.ts";
import { t } from "../../messages/i18n.ts";
import type { Field, Values } from "../../records/form-fields.tsx";
import { omitUnchanged } from "../../records/omit-unchanged.ts";
import { RecordForm } from "../../records/record-form.tsx";
import { type Fact, Facts, Panel } from "../../records/record-page.tsx";
import { readRecord, useRecord } from "../../records/use-record.ts";
import { formatDomains, parseDomains } from "./gateway-domains.ts";

const path = "/tenants/gateways/{id}/settings";

type Settings = ResultOf<typeof path, "get">;

const fields: readonly Field[] = [
  {
    kind: "words",
    name: "resolvers",
    label: t("gateways.settings.resolvers"),
    description: t("gateways.settings.resolversHelp"),
    example: "192.0.2.53",
  },
  {
    kind: "long-text",
    name: "domains",
    label: t("gateways.settings.domains"),
    description: t("gateways.settings.domainsHelp"),
    example: "corp.example.com = 192.0.2.53, 192.0.2.54",
    maxLength: 100_000,
    validate: (value) => {
      const { invalid } = parseDomains(String(value));
      return invalid.length === 0 ? undefined : t("gateways.settings.invalidLine", { line: invalid[0] ?? "" });
    },
  },
  { kind: "switch", name: "ownNetworks", label: t("gateways.settings.ownNetworks") },
  {
    kind: "words",
    name: "networks",
    label: t("gateways.settings.networks"),
    description: t("gateways.settings.networksHelp"),
    example: "10.20.0.0/16",
  },
  {
    kind: "text",
    name: "relayPort",
    label: t("gateways.settings.relayPort"),
    description: t("gateways.settings.relayPortHelp"),
    maxLength: 5,
  },
];

function valuesOf({ resolvers, domains, networks, relayPort }: Settings): Values {
  return {
    resolvers,
    domains: formatDomains(domains),
    ownNetworks: networks !== null,
    networks: networks ?? [],
    relayPort: relayPort ?? "",
  };
}

function bodyOf(values: Values) {
  const { resolvers, domains, ownNetworks, networks, relayPort } = values as {
    readonly resolvers: readonly string[];
    readonly domains: string;
    readonly ownNetworks: boolean;
    readonly networks: readonly string[];
    readonly relayPort: string;
  }; // `fields` declares these types
  return {
    resolvers,
    domains: parseDomains(domains).domains,
    networks: ownNetworks ? networks : null,
    relayPort: relayPort.trim() === "" ? null : relayPort.trim(),
  };
}

/** The value of the networks, and what it means if they are not listed. */
function describeNetworks(networks: Settings["networks"]): Pick<Fact, "value" | "none" | "note"> {
  const value = networks?.join(", ");
  if (networks === null) {
    return { value, none: t("gateways.settings.notSet"), note: t("gateways.settings.networksDerived") };
  }
  return networks.length === 0
    ? { value, none: t("common.none"), note: t("gateways.settings.networksEmpty") }
    : { value };
}

interface GatewaySettingsPanelProps {
  readonly id: string;
  readonly name: string;
}

export function GatewaySettingsPanel({ id, name }: GatewaySettingsPanelProps) {
  const canWrite = usePermission("gateways:write");
  const { data, error, refetch } = useRecord(path, id);
  const [editing, { open, close }] = useDisclosure(false);
  const settings = data?.record;
  return (
    <Panel
      title={t("gateways.settings.title")}
      actions={
        canWrite && (
          <Button size="xs" variant="default" disabled={data === undefined} onClick={open}>
            {t("gateways.settings.edit")}
          </Button>
        )
      }
    >
      {error !== null ? (
        <ProblemNotice error={error} retry={refetch} />
      ) : settings === undefined ? (
        <Skeleton height={80} aria-busy />
      ) : (
        <Facts
          facts={[
            {
              label: t("gateways.settings.resolvers"),
              value: settings.resolvers.join(", ") || t("gateways.settings.machineResolvers"),
            },
            {
              label: t("gateways.settings.domains"),
              value: settings.domains.length > 0 && (
                <Text style={{ whiteSpace: "pre-line" }}>{formatDomains(settings.domains)}</Text>
              ),
            },
            {
              label: t("gateways.settings.networks"),
              ...describeNetworks(settings.networks),
            },
            {
              label: t("gateways.settings.relayPort"),
              value: settings.relayPort,
              none: t("gateways.settings.noRelay"),
            },
          ]}
        />
      )}
      {editing && data !== undefined && (
        <RecordForm
          title={t("gateways.settings.editTitle", { name })}
          fields={fields}
          initial={valuesOf(data.record)}
          submitLabel={t("common.save")}
          plan={(values, before) => [
            {
              method: "PUT",
              path: `/tenants/gateways/${id}/settings`,
              body: omitUnchanged(bodyOf(values), bodyOf(before), ["resolvers", "domains", "networks"]),
            },
          ]}
          close={close}
          edits={{
            etag: data.etag,
            reload: async () => {
              const stored = await readRecord(path, id);
              return { values: valuesOf(stored.record), etag: stored.etag };
            },
          }}
        />
      )}
    </Panel>
  );
}
