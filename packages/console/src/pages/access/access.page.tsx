/** Who reaches what, and why; now, at another time, or on a day in the past. */
import {
  Button,
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
import { useClipboard, useDebouncedCallback } from "@mantine/hooks";
import { Link2 } from "lucide-react";
import { lazy, Suspense, useEffect, useState } from "react";
import { fromLocalTime, toLocalTime } from "../../records/local-time.ts";
import { RecordSelect } from "../../records/record-select.tsx";
import { type AccessSearch, protocols, useAccessSearch, views } from "./access-search.ts";
import { DecisionAnswer } from "./decision-answer.tsx";
import { FoundAnswer } from "./found-answer.tsx";
import { SearchAnswer } from "./search-answer.tsx";

const GraphView = lazy(async () => ({ default: (await import("./graph/graph-view.tsx")).GraphView }));

export function AccessPage() {
  const { asked, change } = useAccessSearch();
  useEffect(() => {
    document.title = "Access · Gatehouse";
  }, []);
  return (
    <Stack>
      <Group justify="space-between">
        <Title order={1}>Access</Title>
        <CopyLink />
      </Group>
      <SegmentedControl
        aria-label="What is asked"
        value={asked.view}
        onChange={(view) => change({ view }, true)}
        data={views.map(({ value, label }) => ({ value, label }))}
        style={{ alignSelf: "start" }}
        className="views"
        withItemsBorders={false}
      />
      {asked.view === "graph" ? (
        <Suspense fallback={<Skeleton height={420} aria-busy />}>
          <GraphView />
        </Suspense>
      ) : (
        <>
          <Question asked={asked} change={change} />
          <Answer asked={asked} change={change} />
        </>
      )}
    </Stack>
  );
}

/** What stands in the address when it is pressed. */
function CopyLink() {
  const { copy, copied, error } = useClipboard({ timeout: 2_000 });
  return (
    <Button
      variant="default"
      leftSection={<Link2 size={16} aria-hidden />}
      onClick={() => copy(window.location.href)}
      aria-live="polite"
    >
      {copied ? "Copied" : error === null ? "Copy a link to this" : "Copy it from the address bar"}
    </Button>
  );
}

interface Asking {
  readonly asked: AccessSearch;
  readonly change: ReturnType<typeof useAccessSearch>["change"];
}

function Question({ asked, change }: Asking) {
  const { view, at, past, country } = asked;
  const byAddress = asked.byAddress && view !== "what";
  return (
    <Paper withBorder p="md" component="section" aria-label="Question">
      <SimpleGrid cols={{ base: 1, sm: 2, lg: 3 }}>
        {view !== "who" && <Who asked={asked} change={change} />}
        {view !== "what" && <Destination asked={asked} change={change} />}
        <TextInput
          type="datetime-local"
          label="When"
          description={
            view === "can" || byAddress ? "Empty: now" : "Empty: now. Otherwise with everything as it was set up then"
          }
          value={toLocalTime(at)}
          onChange={({ currentTarget: { value } }) => change({ at: fromLocalTime(value) || undefined })}
          inputWrapperOrder={["label", "input", "description"]}
        />
        <TypedText label="From address" placeholder="198.51.100.7" value={asked.ip} onChange={(ip) => change({ ip })} />
        <TextInput
          label="From country"
          placeholder="DE"
          maxLength={2}
          value={country}
          onChange={({ currentTarget: { value } }) =>
            change({ country: value.toUpperCase().replaceAll(/[^A-Z]/g, "") })
          }
        />
      </SimpleGrid>
      {byAddress ? (
        <Text size="sm" c="dimmed" mt="md">
          An address is asked for as everything is set up now. What could be reached in the past is known of resources.
        </Text>
      ) : (
        view === "can" && (
          <Switch
            mt="md"
            label="With everything as it was set up then"
            description="For a day in the past. Otherwise what is set up now is asked, at that time of day."
            checked={past}
            onChange={({ currentTarget }) => change({ past: currentTarget.checked ? "1" : undefined })}
          />
        )
      )}
    </Paper>
  );
}

function Who({ asked: { view, user, device }, change }: Asking) {
  return (
    <>
      <RecordSelect
        path="/tenants/users"
        label="User"
        placeholder="E-mail address"
        value={user}
        onChange={(id) => change({ user: id, device: undefined })}
      />
      <RecordSelect
        path="/tenants/devices"
        label="Device"
        placeholder={view === "what" ? "With any of theirs" : "Without a device"}
        query={user === "" ? {} : { "filter[user.id]": user }}
        value={device}
        onChange={(id) => change({ device: id })}
      />
    </>
  );
}

function Destination({ asked: { byAddress, resource, address, protocol, port }, change }: Asking) {
  return (
    <>
      <Select
        label="Destination"
        data={[
          { value: "resource", label: "A resource" },
          { value: "address", label: "An address" },
        ]}
        value={byAddress ? "address" : "resource"}
        allowDeselect={false}
        onChange={(to) => change({ to: to === "address" ? to : undefined })}
      />
      {byAddress ? (
        <>
          <TypedText
            label="Address"
            placeholder="IP address or host name"
            value={address}
            onChange={(next) => change({ address: next })}
          />
          <Group wrap="nowrap" align="flex-start">
            <Select
              label="Protocol"
              placeholder="Any"
              data={[...protocols]}
              value={protocol ?? null}
              onChange={(next) => change({ protocol: next ?? undefined })}
              clearable
              clearButtonProps={{ "aria-label": "Any protocol" }}
              style={{ flex: 1 }}
            />
            <NumberInput
              label="Port"
              placeholder={protocol === undefined ? "Of a protocol" : protocol === "ICMP" ? "None" : "Any"}
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
          label="Resource"
          placeholder="Name"
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

/** Asks once somebody has stopped to type: half an address is none. */
function TypedText({ value, onChange, ...input }: TypedTextProps) {
  const [typed, setTyped] = useState(value);
  const ask = useDebouncedCallback(onChange, 400);
  // Going back changes the address bar, and so what stands in the field.
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

function Answer({ asked, change }: Asking) {
  const { view, user, device, byAddress, resource, address, at, past } = asked;
  const hasSubject = user !== "" || device !== "";
  const hasDestination = byAddress ? address !== "" : resource !== "";
  if ((view !== "who" && !hasSubject) || (view !== "what" && !hasDestination)) {
    return (
      <Paper withBorder p="xl">
        <Text ta="center" c="dimmed">
          {view === "who"
            ? `${byAddress ? "Enter an address" : "Choose a resource"} to see who reaches it.`
            : view === "what"
              ? "Choose a user, or a device, to see what they reach."
              : `Choose a user, or a device, and ${byAddress ? "enter an address" : "a resource"}.`}
        </Text>
      </Paper>
    );
  }
  if (byAddress && view === "who") {
    return <SearchAnswer asked={asked} change={change} />;
  }
  if (view === "can" && (byAddress || !past)) return <DecisionAnswer asked={asked} />;
  if (Date.parse(at) > Date.now()) {
    return (
      <Paper withBorder p="xl">
        <Text ta="center" c="dimmed">
          How everything will be set up then is not known. “Can they reach it?” tells what is set up now, at that time.
        </Text>
      </Paper>
    );
  }
  return <FoundAnswer asked={asked} turnTo={(page) => change({ page: page === 1 ? undefined : String(page) }, true)} />;
}
