/** The page that shows who can reach which resource and why: now, at another time, or on a date in the past. */
import {
  Group,
  NumberInput,
  Paper,
  SegmentedControl,
  Select,
  SimpleGrid,
  Skeleton,
  Stack,
  Switch,
  Text,
  TextInput,
  Title,
} from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { Link2 } from "lucide-react";
import { lazy, Suspense, useEffect, useRef, useState } from "react";
import { paged } from "../../app/api.ts";
import { CopyText } from "../../app/copy.tsx";
import { t } from "../../messages/i18n.ts";
import { fromLocalTime, toLocalTime } from "../../records/local-time.ts";
import { RecordSelect } from "../../records/record-select.tsx";
import { type AccessSearch, protocols, useAccessSearch, type View, views } from "./access-search.ts";
import { DecisionAnswer } from "./decision-answer.tsx";
import { FoundAnswer } from "./found-answer.tsx";
import { SearchAnswer } from "./search-answer.tsx";

const GraphView = lazy(async () => ({ default: (await import("./graph/graph-view.tsx")).GraphView }));

export function AccessPage() {
  const { query, change } = useAccessSearch();
  useEffect(() => {
    document.title = t("common.documentTitle", { title: t("access.title") });
  }, []);
  return (
    <Stack>
      <Group justify="space-between">
        <Title order={1}>{t("access.title")}</Title>
        <CopyText text={window.location.href} variant="default" leftSection={<Link2 size={16} aria-hidden />}>
          {t("access.copyLink")}
        </CopyText>
      </Group>
      <SegmentedControl
        aria-label={t("access.view")}
        value={query.view}
        onChange={(view) => change({ view }, true)}
        data={views.map(({ value, label }) => ({ value, label }))}
        style={{ alignSelf: "start" }}
        className="views"
        withItemsBorders={false}
      />
      {query.view === "graph" ? (
        <Suspense fallback={<Skeleton height={420} aria-busy />}>
          <GraphView />
        </Suspense>
      ) : (
        <>
          <QueryForm query={query} change={change} />
          <Answer query={query} change={change} />
        </>
      )}
    </Stack>
  );
}

interface QueryProps {
  readonly query: AccessSearch;
  readonly change: ReturnType<typeof useAccessSearch>["change"];
}

function QueryForm({ query, change }: QueryProps) {
  const { view, at, past, country } = query;
  const byAddress = query.byAddress && view !== "what";
  return (
    <Paper withBorder p="md" component="section" aria-label={t("access.query.region")}>
      <SimpleGrid cols={{ base: 1, sm: 2, lg: 3 }}>
        {view !== "who" && <Subject query={query} change={change} />}
        {view !== "what" && <Destination query={query} change={change} />}
        <TextInput
          type="datetime-local"
          label={t("access.query.when")}
          description={view === "can" || byAddress ? t("access.query.whenHelp") : t("access.query.whenHelpPast")}
          value={toLocalTime(at)}
          onChange={({ currentTarget: { value } }) => change({ at: fromLocalTime(value) || undefined })}
          inputWrapperOrder={["label", "input", "description"]}
        />
        <TypedText
          label={t("access.query.sourceIp")}
          placeholder={t("access.query.sourceIpPlaceholder")}
          value={query.ip}
          onChange={(ip) => change({ ip })}
        />
        <TextInput
          label={t("access.query.country")}
          placeholder={t("access.query.countryPlaceholder")}
          maxLength={2}
          value={country}
          onChange={({ currentTarget: { value } }) =>
            change({ country: value.toUpperCase().replaceAll(/[^A-Z]/g, "") })
          }
        />
      </SimpleGrid>
      {byAddress ? (
        <Text size="sm" c="dimmed" mt="md">
          {t("access.query.pastNotForAddress")}
        </Text>
      ) : (
        view === "can" && (
          <Switch
            mt="md"
            label={t("access.query.past")}
            description={t("access.query.pastHelp")}
            checked={past}
            onChange={({ currentTarget }) => change({ past: currentTarget.checked ? "1" : undefined })}
          />
        )
      )}
    </Paper>
  );
}

/** People connect with a device, so an answer about a person alone would mislead. */
async function lastSeenDevice(user: string): Promise<string | undefined> {
  const { data } = await paged("/tenants/devices").read({
    "filter[user.id]": user,
    "filter[active]": "true",
    sort: "-lastConnection",
    limit: 1,
  });
  return data[0]?.id;
}

function Subject({ query: { view, user, device }, change }: QueryProps) {
  const chosen = useRef(user);
  const choose = async (id: string) => {
    chosen.current = id;
    change({ user: id, device: undefined });
    if (id === "" || view !== "can") return;
    // Without permission to read devices, the person chooses none.
    const last = await lastSeenDevice(id).catch(() => undefined);
    if (last !== undefined && chosen.current === id) change({ user: id, device: last });
  };
  return (
    <>
      <RecordSelect
        path="/tenants/users"
        label={t("access.query.user")}
        placeholder={t("access.query.userPlaceholder")}
        value={user}
        onChange={(id) => void choose(id)}
      />
      <RecordSelect
        path="/tenants/devices"
        label={t("access.query.device")}
        placeholder={view === "what" ? t("access.query.deviceAny") : t("access.query.deviceNone")}
        query={user === "" ? {} : { "filter[user.id]": user }}
        value={device}
        onChange={(id) => change({ device: id })}
      />
    </>
  );
}

function Destination({ query: { byAddress, resource, address, protocol, port }, change }: QueryProps) {
  return (
    <>
      <Select
        label={t("access.query.destination")}
        data={[
          { value: "resource", label: t("access.query.byResource") },
          { value: "address", label: t("access.query.byAddress") },
        ]}
        value={byAddress ? "address" : "resource"}
        allowDeselect={false}
        onChange={(to) => change({ to: to === "address" ? to : undefined })}
      />
      {byAddress ? (
        <>
          <TypedText
            label={t("access.query.address")}
            placeholder={t("access.query.addressPlaceholder")}
            value={address}
            onChange={(next) => change({ address: next })}
          />
          <Group wrap="nowrap" align="flex-start">
            <Select
              label={t("access.query.protocol")}
              placeholder={t("access.query.protocolAny")}
              data={[...protocols]}
              value={protocol ?? null}
              onChange={(next) => change({ protocol: next ?? undefined })}
              clearable
              clearButtonProps={{ "aria-label": t("access.query.anyProtocol") }}
              style={{ flex: 1 }}
            />
            <NumberInput
              label={t("access.query.port")}
              placeholder={
                protocol === undefined
                  ? t("access.query.portOfProtocol")
                  : protocol === "ICMP"
                    ? t("access.query.portNone")
                    : t("access.query.portAny")
              }
              min={1}
              max={65_535}
              allowDecimal={false}
              allowNegative={false}
              hideControls
              disabled={protocol !== "TCP" && protocol !== "UDP"}
              value={port ?? ""}
              onChange={(next) => change({ port: next === "" ? undefined : String(next) })}
              style={{ flex: 1 }}
            />
          </Group>
        </>
      ) : (
        <RecordSelect
          path="/tenants/resources"
          label={t("access.query.resource")}
          placeholder={t("access.query.resourcePlaceholder")}
          value={resource}
          onChange={(id) => change({ resource: id })}
        />
      )}
    </>
  );
}

interface TypedTextProps {
  readonly label: string;
  readonly placeholder: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

/** Changes the query when the user stops typing, because half an address is invalid. */
function TypedText({ value, onChange, ...input }: TypedTextProps) {
  const [typed, setTyped] = useState(value);
  const ask = useDebouncedCallback(onChange, 400);
  // Navigating back changes the URL, and with it the text of the field.
  useEffect(() => setTyped((now) => (now.trim() === value ? now : value)), [value]);
  return (
    <TextInput
      {...input}
      maxLength={253}
      value={typed}
      onChange={({ currentTarget }) => {
        setTyped(currentTarget.value);
        ask(currentTarget.value.trim());
      }}
    />
  );
}

function promptFor(view: View, byAddress: boolean): string {
  if (view === "what") return t("access.query.chooseSubject");
  if (view === "who") return byAddress ? t("access.query.chooseAddress") : t("access.query.chooseResource");
  return byAddress ? t("access.query.chooseSubjectAndAddress") : t("access.query.chooseSubjectAndResource");
}

function Answer({ query, change }: QueryProps) {
  const { view, user, device, byAddress, resource, address, at, past } = query;
  const hasSubject = user !== "" || device !== "";
  const hasDestination = byAddress ? address !== "" : resource !== "";
  if ((view !== "who" && !hasSubject) || (view !== "what" && !hasDestination)) {
    return (
      <Paper withBorder p="xl">
        <Text ta="center" c="dimmed">
          {promptFor(view, byAddress)}
        </Text>
      </Paper>
    );
  }
  if (byAddress && view === "who") {
    return <SearchAnswer query={query} change={change} />;
  }
  if (view === "can" && (byAddress || !past)) return <DecisionAnswer query={query} />;
  if (Date.parse(at) > Date.now()) {
    return (
      <Paper withBorder p="xl">
        <Text ta="center" c="dimmed">
          {t("access.found.future", { view: t("access.views.can") })}
        </Text>
      </Paper>
    );
  }
  return <FoundAnswer query={query} turnTo={(page) => change({ page: page === 1 ? undefined : String(page) }, true)} />;
}
