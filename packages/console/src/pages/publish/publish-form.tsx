/** The form that publishes a resource. */
import { GatehouseError } from "@gatehouse/client/errors";
import { Button, Group, Select, Stack, Text, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useEffect, useRef, useState } from "react";
import { paged, whole } from "../../app/api.ts";
import { ProblemNotice } from "../../app/problem-notice.tsx";
import { capitalize } from "../../messages/format.ts";
import { t } from "../../messages/i18n.ts";
import { RichText } from "../../messages/rich-text.tsx";
import { type PlannedChange, sendChanges } from "../../records/planned-change.ts";
import { type Destination, nameFor, readDestination } from "../../records/read-destination.ts";
import { ReviewedChange } from "../../records/reviewed-change.tsx";
import { DiscardNotice, useUnsaved } from "../../records/unsaved.tsx";
import { AccessFields, noAccess, PlainPart, Step } from "./access-fields.tsx";
import { AccessSummary } from "./access-summary.tsx";
import { type Protocol, type Publication, protocolFor, publishChanges, resourceChanges } from "./publish-changes.ts";

const start: Publication = { ...noAccess, address: "", name: "", gateway: "", gatewayName: "gateway-1" };

const gateways = whole("/tenants/gateways");
const protocols = whole("/tenants/protocols");

function useWhole<Row>(source: { readonly path: string; read(signal?: AbortSignal): Promise<readonly Row[]> }) {
  return useQuery({
    queryKey: [source.path, "list", undefined],
    queryFn: ({ signal }) => source.read(signal),
  });
}

/** The name that an address suggests. If a resource has that name, the address itself. */
function useFreeName(destination: Destination | undefined): string | undefined {
  const suggested = destination === undefined ? "" : nameFor(destination);
  const [asked] = useDebouncedValue(suggested, 200);
  const { data } = useQuery({
    queryKey: ["/tenants/resources", "named", asked],
    enabled: asked !== "",
    queryFn: ({ signal }) => paged("/tenants/resources").read({ "filter[name]": asked, limit: 1 }, signal),
  });
  if (destination === undefined) return undefined;
  const isTaken = asked === suggested && data !== undefined && data.data.length > 0;
  return isTaken ? destination.address : suggested;
}

type Problems = Partial<Record<"address" | "gatewayName" | "name" | "who", string>>;

/** The fields whose names the server refuses. */
function problemsIn(error: unknown, changes: readonly PlannedChange[]): Problems {
  if (!(error instanceof GatehouseError)) return {};
  const found = error.errors.flatMap(({ pointer, message }): (readonly [string, string])[] => {
    const [, index] = /^\/changes\/(\d+)\/body\/name$/.exec(pointer) ?? [];
    const path = index === undefined ? undefined : changes[Number(index)]?.path;
    const field = path === "/tenants/resources" ? "name" : path === "/tenants/gateways" ? "gatewayName" : undefined;
    const text = error.code === "name_taken" ? t("publish.nameTaken") : capitalize(message);
    return field === undefined ? [] : [[field, text]];
  });
  return Object.fromEntries(found);
}

interface PublishedPolicy {
  readonly id: string;
  readonly name: string;
  readonly resources: readonly { readonly id: string }[];
}

export interface Published {
  readonly name: string;
  /** Undefined for a resource without a policy. */
  readonly policy: PublishedPolicy | undefined;
  readonly isNewGateway: boolean;
}

interface PublishFormProps {
  readonly done: (published: Published) => void;
  /** Whether to create the resource without a policy, as one of several steps. */
  readonly isStep?: boolean;
}

export function PublishForm({ done, isStep = false }: PublishFormProps) {
  const { data: known, error: gatewaysError } = useWhole(gateways);
  const { data: allProtocols = [], error: protocolsError } = useWhole(protocols);
  const queryClient = useQueryClient();
  const [given, setGiven] = useState(start);
  const [isNamed, setNamed] = useState(false);
  const [problems, setProblems] = useState<Problems>({});
  const [reviewed, setReviewed] = useState<Publication>();
  const [error, setError] = useState<unknown>();
  const unsaved = useUnsaved(given.address !== "");
  const form = useRef<HTMLFormElement>(null);
  const destination = readDestination(given.address);
  const proposed = useFreeName(isNamed ? undefined : destination);
  const name = proposed ?? given.name;
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
      ...(isStep || given.everyone || given.groups.length > 0 ? {} : { who: t("publish.who.missing") }),
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
  const Part = isStep ? PlainPart : Step;
  if (reviewed !== undefined) {
    const changes = (isStep ? resourceChanges : publishChanges)(reviewed, allProtocols);
    return (
      <Part title={t("publish.effect", { name: reviewed.name })}>
        <DiscardNotice unsaved={unsaved} />
        <ReviewedChange
          changes={changes}
          note={
            <Summary
              publication={reviewed}
              protocols={allProtocols}
              gateway={known?.find(({ id }) => id === reviewed.gateway)?.name}
              isStep={isStep}
            />
          }
          label={t("publish.publish")}
          backLabel={t("records.form.back")}
          back={() => setReviewed(undefined)}
          run={async (overrideReason) => {
            const last = await sendChanges(changes, { overrideReason });
            unsaved.release();
            done({
              name: reviewed.name,
              policy: isStep ? undefined : policyOf(last),
              isNewGateway: reviewed.gateway === "",
            });
          }}
          done={() => undefined}
          refused={(problem) => {
            if (problem instanceof Error && "code" in problem && problem.code === "access_tests_broken") return false;
            const atFields = problemsIn(problem, changes);
            setReviewed(undefined);
            setProblems(atFields);
            setError(Object.keys(atFields).length > 0 ? undefined : problem);
            return true;
          }}
        />
      </Part>
    );
  }
  return (
    <form onSubmit={submit} ref={form} noValidate>
      <Stack>
        <Part title={t("publish.where")}>
          <TextInput
            label={t("publish.address.label")}
            description={t("publish.address.help")}
            placeholder={t("common.example", { value: "https://wiki.internal" })}
            value={given.address}
            onChange={({ currentTarget }) => change({ address: currentTarget.value })}
            error={problems.address}
            maxLength={300}
            required
            autoFocus={Object.keys(problems).length === 0}
          />
          {destination !== undefined && (
            <Text size="sm" aria-live="polite">
              {t("publish.address.publishedAs", {
                destination: formatDestination(destination, protocolFor(allProtocols, destination.port)?.name),
              })}
            </Text>
          )}
          <TextInput
            label={t("common.name")}
            placeholder={t("common.example", { value: t("resources.nameExample") })}
            value={name}
            onChange={({ currentTarget }) => {
              setNamed(true);
              change({ name: currentTarget.value });
            }}
            error={problems.name}
            maxLength={120}
            required
          />
        </Part>
        <Part title={t("publish.through")}>
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
              placeholder={t("common.example", { value: t("gateways.fields.nameExample") })}
              value={given.gatewayName}
              onChange={({ currentTarget }) => change({ gatewayName: currentTarget.value })}
              error={problems.gatewayName}
              maxLength={120}
              required
            />
          )}
        </Part>
        {!isStep && <AccessFields access={given} change={change} problem={problems.who} Part={Step} />}
        {error !== undefined && <ProblemNotice error={error} />}
        <DiscardNotice unsaved={unsaved} />
        <Group justify="flex-end">
          <Button type="submit" className="phone-wide">
            {t("common.review")}
          </Button>
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

/** The last change of the set creates the policy. */
function policyOf(answer: unknown): PublishedPolicy {
  return answer as PublishedPolicy; // the response to that change
}

interface SummaryProps {
  readonly publication: Publication;
  readonly protocols: readonly Protocol[];
  /** The name of the existing gateway; undefined for a new one. */
  readonly gateway: string | undefined;
  readonly isStep: boolean;
}

/** Looks like the labels of the effect below it. */
const label = <Text span inherit c="dimmed" />;

function Summary({ publication, protocols, gateway, isStep }: SummaryProps) {
  const { address, gatewayName } = publication;
  const destination = readDestination(address);
  return (
    <Stack gap={2}>
      {destination !== undefined && (
        <Text>
          <RichText
            message="publish.summary.address"
            values={{ destination: formatDestination(destination, protocolFor(protocols, destination.port)?.name) }}
            elements={{ label }}
          />
        </Text>
      )}
      <Text>
        {gateway === undefined ? (
          t("publish.summary.newGateway", { name: gatewayName })
        ) : (
          <RichText message="publish.summary.gateway" values={{ name: gateway }} elements={{ label }} />
        )}
      </Text>
      {isStep ? (
        <Text>{t("publish.summary.policyLater")}</Text>
      ) : (
        <AccessSummary access={publication} name={publication.name} />
      )}
    </Stack>
  );
}
