/** Who reaches what, and why; now, at another time, or on a day in the past. */
import {
  Button,
  CopyButton,
  Group,
  Paper,
  SegmentedControl,
  SimpleGrid,
  Skeleton,
  Stack,
  Switch,
  Text,
  TextInput,
  Title,
} from "@mantine/core";
import { Link2 } from "lucide-react";
import { lazy, Suspense, useEffect } from "react";
import { RecordSelect } from "../../records/record-select.tsx";
import { type AccessSearch, useAccessSearch, views } from "./access-search.ts";
import { DecisionAnswer } from "./decision-answer.tsx";
import { FoundAnswer } from "./found-answer.tsx";

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
        <CopyButton value={window.location.href}>
          {({ copied, copy }) => (
            <Button variant="default" leftSection={<Link2 size={16} aria-hidden />} onClick={copy}>
              {copied ? "Copied" : "Copy a link to this"}
            </Button>
          )}
        </CopyButton>
      </Group>
      <SegmentedControl
        aria-label="What is asked"
        value={asked.view}
        onChange={(view) => change({ view })}
        data={views.map(({ value, label }) => ({ value, label }))}
        style={{ alignSelf: "start" }}
        className="views"
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

interface Asking {
  readonly asked: AccessSearch;
  readonly change: ReturnType<typeof useAccessSearch>["change"];
}

function Question({ asked, change }: Asking) {
  const { view, user, device, resource, at, past, ip, country } = asked;
  return (
    <Paper withBorder p="md" component="section" aria-label="Question">
      <SimpleGrid cols={{ base: 1, sm: 2, lg: 3 }}>
        {view !== "who" && (
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
        )}
        {view !== "what" && (
          <RecordSelect
            path="/tenants/resources"
            label="Resource"
            placeholder="Name"
            value={resource}
            onChange={(id) => change({ resource: id })}
          />
        )}
        <TextInput
          type="datetime-local"
          label="When"
          description="Empty: now"
          value={localOf(at)}
          onChange={({ currentTarget: { value } }) => change({ at: isoOf(value) })}
          inputWrapperOrder={["label", "input", "description"]}
        />
        <TextInput
          label="From address"
          placeholder="198.51.100.7"
          maxLength={64}
          value={ip}
          onChange={({ currentTarget: { value } }) => change({ ip: value.trim() })}
        />
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
      {view === "can" && (
        <Switch
          mt="md"
          label="With everything as it was set up then"
          description="For a day in the past. Otherwise what is set up now is asked, at that time of day."
          checked={past}
          onChange={({ currentTarget }) => change({ past: currentTarget.checked ? "1" : undefined })}
        />
      )}
    </Paper>
  );
}

function Answer({ asked, change }: Asking) {
  const { view, user, device, resource, past } = asked;
  const isAsked = view === "who" ? resource !== "" : user !== "" || device !== "";
  if (!isAsked || (view === "can" && resource === "")) {
    return (
      <Paper withBorder p="xl">
        <Text ta="center" c="dimmed">
          {view === "who"
            ? "Choose a resource to see who reaches it."
            : view === "what"
              ? "Choose a user, or a device, to see what they reach."
              : "Choose a user, or a device, and a resource."}
        </Text>
      </Paper>
    );
  }
  if (view === "can" && !past) return <DecisionAnswer asked={asked} />;
  return <FoundAnswer asked={asked} turnTo={(page) => change({ page: page === 1 ? undefined : String(page) })} />;
}

/** As the browser's field has it: the viewer's own time, to the minute. */
function localOf(at: string): string {
  const moment = new Date(at);
  if (at === "" || Number.isNaN(moment.getTime())) return "";
  return new Date(moment.getTime() - moment.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

function isoOf(local: string): string | undefined {
  const moment = new Date(local);
  return local === "" || Number.isNaN(moment.getTime()) ? undefined : moment.toISOString();
}
