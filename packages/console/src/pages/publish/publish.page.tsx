/** Publishes a resource on one page: where it is, through which gateway, for whom, and under which conditions. */
import { Button, Checkbox, Code, Group, Paper, Select, Stack, Switch, Text, TextInput, Title } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Check } from "lucide-react";
import { type FormEvent, type ReactNode, useEffect, useRef, useState } from "react";
import { whole } from "../../app/api.ts";
import { ProblemNotice } from "../../app/problem-notice.tsx";
import { useSession } from "../../app/session.ts";
import { t } from "../../messages/i18n.ts";
import { sendChanges } from "../../records/planned-change.ts";
import { RecordPicker } from "../../records/record-picker.tsx";
import { ReviewedChange } from "../../records/reviewed-change.tsx";
import { DiscardNotice, useUnsaved } from "../../records/unsaved.tsx";
import { officeHours, type Publication, protocolFor, publishChanges } from "./publish-changes.ts";
import { nameFor, readDestination } from "./read-destination.ts";

const needed = ["resources:write", "gateways:write", "policies:write"] as const;
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;

const start: Publication = {
  address: "",
  name: "",
  gateway: "",
  gatewayName: "gateway-1",
  everyone: false,
  groups: [],
  needsEncryptedDisk: false,
  needsOfficeHours: false,
  zone,
};

export function PublishPage() {
  const { permissions } = useSession();
  useEffect(() => {
    document.title = t("common.documentTitle", { title: t("publish.title") });
  }, []);
  const missing = needed.filter((permission) => !permissions.includes(permission));
  const [published, setPublished] = useState<Published>();
  const [round, setRound] = useState(0);
  return (
    <Stack maw={760}>
      <div>
        <Title order={1}>{t("publish.title")}</Title>
        <Text c="dimmed" mt={4}>
          {t("publish.text")}
        </Text>
      </div>
      {missing.length > 0 ? (
        <Text>{t("publish.notPermitted", { permissions: missing.join(", ") })}</Text>
      ) : published === undefined ? (
        <PublishForm key={round} done={setPublished} />
      ) : (
        <Done
          published={published}
          again={() => {
            setPublished(undefined);
            setRound(round + 1);
          }}
        />
      )}
    </Stack>
  );
}

const gateways = whole("/tenants/gateways");
const protocols = whole("/tenants/protocols");

function useWhole<Row>(source: { readonly path: string; read(signal?: AbortSignal): Promise<readonly Row[]> }) {
  return useQuery({
    queryKey: [source.path, "list", undefined],
    queryFn: ({ signal }) => source.read(signal),
  });
}

interface Published {
  readonly name: string;
  readonly resource: string;
  readonly isNewGateway: boolean;
}

function PublishForm({ done }: { readonly done: (published: Published) => void }) {
  const { data: known, error: gatewaysError } = useWhole(gateways);
  const { data: allProtocols = [], error: protocolsError } = useWhole(protocols);
  const queryClient = useQueryClient();
  const [given, setGiven] = useState(start);
  const [isNamed, setNamed] = useState(false);
  const [problems, setProblems] = useState<Partial<Record<"address" | "who", string>>>({});
  const [reviewed, setReviewed] = useState<Publication>();
  const [error, setError] = useState<unknown>();
  const unsaved = useUnsaved(given.address !== "");
  const form = useRef<HTMLFormElement>(null);
  const destination = readDestination(given.address);
  const name = isNamed || destination === undefined ? given.name : nameFor(destination);
  const change = (next: Partial<Publication>) => {
    setGiven((now) => ({ ...now, ...next }));
    setProblems({});
  };
  // One gateway is the obvious choice. A person may still choose a new one.
  const [first] = known ?? [];
  const chosenGateway = given.gateway === "" && first !== undefined ? first.id : given.gateway;
  const gateway = chosenGateway === newGateway ? "" : chosenGateway;

  const submit = (event: FormEvent) => {
    event.preventDefault();
    const found = {
      ...(destination === undefined ? { address: t("publish.address.invalid") } : {}),
      ...(given.everyone || given.groups.length > 0 ? {} : { who: t("publish.who.missing") }),
    };
    setProblems(found);
    setError(undefined);
    if (Object.keys(found).length === 0) setReviewed({ ...given, name, gateway });
  };
  useEffect(() => {
    if (Object.keys(problems).length > 0) form.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus();
  }, [problems]);

  if (gatewaysError !== null || protocolsError !== null) {
    return <ProblemNotice error={gatewaysError ?? protocolsError} retry={() => queryClient.invalidateQueries()} />;
  }
  if (reviewed !== undefined) {
    const changes = publishChanges(reviewed, allProtocols);
    return (
      <Step title={t("publish.effect", { name: reviewed.name })}>
        <DiscardNotice unsaved={unsaved} />
        <ReviewedChange
          changes={changes}
          note={<Summary publication={reviewed} />}
          label={t("publish.publish")}
          backLabel={t("records.form.back")}
          back={() => setReviewed(undefined)}
          run={async (overrideReason) => {
            const policy = (await sendChanges(changes, { overrideReason })) as {
              readonly resources: readonly { readonly id: string }[];
            }; // the last change of the set creates a policy
            unsaved.release();
            done({
              name: reviewed.name,
              resource: policy.resources[0]?.id ?? "",
              isNewGateway: reviewed.gateway === "",
            });
          }}
          done={() => undefined}
          refused={(problem) => {
            if (problem instanceof Error && "code" in problem && problem.code === "access_tests_broken") return false;
            setReviewed(undefined);
            setError(problem);
            return true;
          }}
        />
      </Step>
    );
  }
  return (
    <form onSubmit={submit} ref={form} noValidate>
      <Stack>
        <Step title={t("publish.where")}>
          <TextInput
            label={t("publish.address.label")}
            description={t("publish.address.help")}
            placeholder="https://wiki.internal"
            value={given.address}
            onChange={({ currentTarget }) => change({ address: currentTarget.value })}
            error={problems.address}
            maxLength={300}
            required
            autoFocus
          />
          {destination !== undefined && (
            <Text size="sm" aria-live="polite">
              {formatDestination(destination, protocolFor(allProtocols, destination.port)?.name)}
            </Text>
          )}
          <TextInput
            label={t("common.name")}
            value={name}
            onChange={({ currentTarget }) => {
              setNamed(true);
              change({ name: currentTarget.value });
            }}
            maxLength={120}
            required
          />
        </Step>
        <Step title={t("publish.through")}>
          {known !== undefined && known.length > 0 && (
            <Select
              label={t("publish.gateway.label")}
              data={[
                ...known.map(({ id, name: label }) => ({ value: id, label })),
                { value: newGateway, label: t("publish.gateway.new") },
              ]}
              value={chosenGateway}
              onChange={(value) => change({ gateway: value ?? newGateway })}
              allowDeselect={false}
            />
          )}
          {gateway === "" && (
            <TextInput
              label={t("publish.gateway.name")}
              description={t("publish.gateway.help")}
              value={given.gatewayName}
              onChange={({ currentTarget }) => change({ gatewayName: currentTarget.value })}
              maxLength={120}
              required
            />
          )}
        </Step>
        <Step title={t("publish.who.title")}>
          <Switch
            label={t("publish.who.everyone")}
            checked={given.everyone}
            onChange={({ currentTarget }) => change({ everyone: currentTarget.checked })}
          />
          {!given.everyone && (
            <RecordPicker
              path="/tenants/groups"
              label={t("publish.who.groups")}
              value={given.groups}
              onChange={(groups) => change({ groups })}
              error={problems.who}
            />
          )}
        </Step>
        <Step title={t("publish.conditions.title")}>
          <Checkbox
            label={t("publish.conditions.disk")}
            checked={given.needsEncryptedDisk}
            onChange={({ currentTarget }) => change({ needsEncryptedDisk: currentTarget.checked })}
          />
          <Checkbox
            label={t("publish.conditions.hours", { ...officeHours, zone })}
            checked={given.needsOfficeHours}
            onChange={({ currentTarget }) => change({ needsOfficeHours: currentTarget.checked })}
          />
        </Step>
        {error !== undefined && <ProblemNotice error={error} />}
        <DiscardNotice unsaved={unsaved} />
        <Group justify="flex-end">
          <Button type="submit">{t("common.review")}</Button>
        </Group>
      </Stack>
    </form>
  );
}

/** The choice of a new gateway. Ids of gateways are UUIDs. */
const newGateway = "new";

function formatDestination(
  { address, port }: { readonly address: string; readonly port: number | undefined },
  protocol?: string,
) {
  if (port === undefined) return t("publish.address.allPorts", { address });
  return t("publish.address.port", { address, protocol: protocol ?? "TCP", port });
}

function Step({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <Paper withBorder p="md" component="section" aria-label={title}>
      <Title order={2} mb="sm">
        {title}
      </Title>
      <Stack gap="sm">{children}</Stack>
    </Paper>
  );
}

function Summary({ publication: { address, gateway, gatewayName } }: { readonly publication: Publication }) {
  return (
    <Stack gap={2}>
      <Text>
        {t("publish.summary.address")} <Code>{address}</Code>
      </Text>
      {gateway === "" && <Text>{t("publish.summary.newGateway", { name: gatewayName })}</Text>}
    </Stack>
  );
}

interface DoneProps {
  readonly published: Published;
  readonly again: () => void;
}

function Done({ published: { name, resource, isNewGateway }, again }: DoneProps) {
  return (
    <Paper withBorder p="xl" role="status">
      <Stack gap="sm">
        <Group gap="sm">
          <Check size={20} aria-hidden color="var(--status-good)" />
          <Title order={2}>{t("publish.done.title", { name })}</Title>
        </Group>
        <Text>{isNewGateway ? t("publish.done.deploy") : t("publish.done.text")}</Text>
        <Group>
          {isNewGateway && (
            <Button component={Link} to="/gateways" search={{ status: "PENDING" } as never}>
              {t("publish.done.toGateway")}
            </Button>
          )}
          <Button component={Link} to={`/resources/${resource}`} variant="default">
            {t("publish.done.toResource", { name })}
          </Button>
          <Button variant="default" onClick={again}>
            {t("publish.done.again")}
          </Button>
        </Group>
      </Stack>
    </Paper>
  );
}
