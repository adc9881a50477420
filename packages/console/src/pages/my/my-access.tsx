/** The person's own access, with reasons. */
import type { ItemAt } from "@gatehouse/client/calls";
import { Button, Group, NativeSelect, Pagination, Skeleton, Stack, Text, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { Search } from "lucide-react";
import { type FormEvent, useId, useState } from "react";
import { api } from "../../app/api.ts";
import { ProblemNotice } from "../../app/problem-notice.tsx";
import { formatList, formatZonedTime } from "../../messages/format.ts";
import { t } from "../../messages/i18n.ts";
import { OwnName } from "../../records/own-name.tsx";
import { Panel } from "../../records/record-page.tsx";
import { Status, type Tone } from "../../records/status.tsx";
import { formatMissing } from "./format-missing.ts";
import { type MyDevice, useMyDevices, useMyself } from "./my-data.ts";

type MyResource = ItemAt<"/tenants/my/access">;

const pageSize = 20;
/** A resource is available only through a connected device. */
type State = MyResource["state"] | "allowed" | "withoutDevice";

const tones = {
  allowed: "idle",
  withoutDevice: "idle",
  available: "good",
  blocked: "waiting",
  unavailable: "bad",
} as const satisfies Record<State, Tone>;

export function MyAccess() {
  const { data: devices } = useMyDevices();
  const [chosen, setChosen] = useState<string>();
  const [search, setSearch] = useState("");
  const [page, setPage] = useState(1);
  const [asked] = useDebouncedValue(search.trim(), 250);
  const device = devices?.find(({ id }) => id === chosen) ?? likelyDevice(devices ?? []);
  const query = {
    limit: pageSize,
    offset: (page - 1) * pageSize,
    ...(device === undefined ? {} : { device: device.id }),
    ...(asked === "" ? {} : { search: asked }),
  };
  const access = useQuery({
    queryKey: ["/tenants/my/access", query],
    queryFn: ({ signal }) => api.get("/tenants/my/access", { query, signal }),
    enabled: devices !== undefined,
    placeholderData: (before) => before,
  });
  const found = access.data;
  const reachesNothing = found?.total === 0 && asked === "" && !access.isPlaceholderData;
  const pages = Math.ceil((found?.total ?? 0) / pageSize);
  return (
    <Panel title={t("my.access.title")}>
      <Stack>
        {devices?.length === 0 && <Text>{t("my.access.noDevice")}</Text>}
        <Group align="end" grow preventGrowOverflow={false}>
          {devices !== undefined && devices.length > 1 && (
            <NativeSelect
              label={t("my.access.device")}
              value={device?.id ?? ""}
              onChange={(event) => setChosen(event.currentTarget.value)}
              data={devices.map(({ id, name }) => ({ value: id, label: name }))}
            />
          )}
          {(!reachesNothing || search !== "") && (
            <TextInput
              type="search"
              label={t("my.access.search")}
              leftSection={<Search size={16} aria-hidden />}
              value={search}
              onChange={(event) => {
                setSearch(event.currentTarget.value);
                setPage(1);
              }}
              maxLength={256}
            />
          )}
        </Group>
        {device?.status === "Offline" && found !== undefined && found.total > 0 && (
          <Text>{t("my.access.connectFirst", { device: device.name })}</Text>
        )}
        {access.error !== null && <ProblemNotice error={access.error} retry={access.refetch} />}
        {access.isPending && <Skeleton height={120} aria-busy />}
        {found?.total === 0 && (
          <Text c="dimmed">{t(reachesNothing ? "my.access.empty" : "my.access.emptySearch")}</Text>
        )}
        {found !== undefined && found.total > 0 && (
          <ul className="my-resources">
            {found.data.map((resource) => (
              <ResourceRow key={resource.id} resource={resource} device={device} />
            ))}
          </ul>
        )}
        {pages > 1 && <Pagination total={pages} value={page} onChange={setPage} siblings={0} />}
        {devices !== undefined && <AskForm device={device} />}
      </Stack>
    </Panel>
  );
}

/** The active device that was connected last. */
function likelyDevice(devices: readonly MyDevice[]): MyDevice | undefined {
  const seen = ({ lastConnection, active }: MyDevice) => `${active ? 1 : 0}${lastConnection ?? ""}`;
  return devices.reduce<MyDevice | undefined>(
    (best, device) => (best === undefined || seen(device) > seen(best) ? device : best),
    undefined,
  );
}

interface OfDevice {
  readonly device: MyDevice | undefined;
}

function ResourceRow({ resource, device }: OfDevice & { readonly resource: MyResource }) {
  const [isOpen, setOpen] = useState(false);
  const explanation = useId();
  const { id, name, addresses } = resource;
  const isConnected = device?.status === "Online";
  const notConnected: State = device === undefined ? "withoutDevice" : "allowed";
  const state: State = resource.state === "available" && !isConnected ? notConnected : resource.state;
  return (
    <li className="my-resource-row">
      <div className="my-resource">
        <div style={{ minWidth: 0 }}>
          <OwnName>{name}</OwnName>
          <Text size="sm" c="dimmed" style={{ overflowWrap: "anywhere" }}>
            {formatList(addresses)}
          </Text>
        </div>
        <Group gap="xs" justify="flex-end" wrap="nowrap">
          <Status tone={tones[state]}>{t(`my.access.states.${state}`)}</Status>
          {resource.state !== "available" && (
            <Button
              size="xs"
              variant="default"
              aria-expanded={isOpen}
              aria-controls={explanation}
              aria-label={t("my.access.whyLabel", { name })}
              onClick={() => setOpen(!isOpen)}
            >
              {t("my.access.why")}
            </Button>
          )}
        </Group>
      </div>
      <div id={explanation}>{isOpen && <Explanation to={id} device={device} />}</div>
    </li>
  );
}

/** A question about something that the list does not contain. */
function AskForm({ device }: OfDevice) {
  const [text, setText] = useState("");
  const [asked, setAsked] = useState<string>();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setAsked(text.trim());
  };
  return (
    <form onSubmit={submit}>
      <Group align="end">
        <TextInput
          label={t("my.access.checkLabel")}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
          maxLength={256}
          style={{ flex: 1, minWidth: 220 }}
          autoComplete="off"
        />
        <Button type="submit" variant="default" disabled={text.trim() === ""}>
          {t("my.access.check")}
        </Button>
      </Group>
      {asked !== undefined && asked !== "" && (
        <section aria-label={t("my.access.checkTitle", { name: asked })} aria-live="polite">
          <Explanation to={asked} device={device} />
        </section>
      )}
    </form>
  );
}

function Explanation({ to, device }: OfDevice & { readonly to: string }) {
  const { data: myself } = useMyself();
  const body = { to, ...(device === undefined ? {} : { device: device.id }) };
  const answer = useQuery({
    queryKey: ["/tenants/my/access/explanation", body],
    queryFn: ({ signal }) => api.post("/tenants/my/access/explanation", { body, signal }),
  });
  if (answer.error !== null) return <ProblemNotice error={answer.error} retry={answer.refetch} />;
  if (answer.data === undefined) return <Skeleton height={24} mt="xs" aria-busy />;
  const { reachable, resource, missing, changesAt } = answer.data;
  const lines = missing.map((fact) => formatMissing(fact, myself?.sourceAddress ?? "", device !== undefined));
  return (
    <Stack gap={4} mt="xs">
      {reachable && <Text>{t("my.access.reachable", { name: resource?.name ?? to })}</Text>}
      {[...new Set(lines)].map((line) => (
        <Text key={line}>{line}</Text>
      ))}
      {changesAt !== undefined && !missing.some(({ kind }) => kind === "no_gateway") && (
        <Text size="sm" c="dimmed">
          {t(reachable ? "my.access.openUntil" : "my.access.opens", { time: formatZonedTime(changesAt) })}
        </Text>
      )}
    </Stack>
  );
}
