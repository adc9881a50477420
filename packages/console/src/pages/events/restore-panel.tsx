/** Puts back what was there before an event, through the same review as any other change. */
import { GatehouseError } from "@gatehouse/client/errors";
import { Alert, Button, Group, List, Skeleton, Stack, Text } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { api } from "../../app/api.ts";
import { ProblemNotice } from "../../app/problem-notice.tsx";
import { useSession } from "../../app/session.ts";
import type { PlannedChange } from "../../records/planned-change.ts";
import { idIn } from "../../records/record-form.tsx";
import { Panel } from "../../records/record-page.tsx";
import { ReviewDialog } from "../../records/reviewed-change.tsx";
import { notifyProblem } from "../../records/use-record.ts";
import { ChangedFields } from "./changed-fields-table.tsx";
import { OrderRestoration } from "./order-restoration.tsx";
import { pageOf } from "./record-pages.ts";
import { referringAgain } from "./referring-again.ts";
import { type Event, type Restoration, restorationOf, whyImpossible } from "./restore.ts";
import { restorerOf } from "./restorers.ts";
import { withoutMissing } from "./without-missing.ts";

type Read = (
  path: string,
  options: object,
) => Promise<{ readonly record: Record<string, unknown>; readonly etag: string }>;
const readAny = api.read as unknown as Read; // each kind that can be put back is read at its own path

export function RestorePanel({ event }: { readonly event: Event }) {
  const { permissions } = useSession();
  const { type } = event.target;
  const restorer = restorerOf(type);
  const why = whyImpossible(event);
  const canWrite =
    restorer === undefined ||
    permissions.includes(restorer.permission) ||
    (restorer.createPermission !== undefined && permissions.includes(restorer.createPermission));
  // Who may change nothing of the kind is not offered it.
  if (!canWrite) return null;
  return (
    <Panel title="Put back">
      {why !== undefined ? (
        <Text c="dimmed">{why}</Text>
      ) : event.operation === "reorderPolicies" ? (
        <OrderRestoration event={event} />
      ) : (
        <RecordRestoration event={event} path={restorer?.path ?? ""} />
      )}
    </Panel>
  );
}

interface RecordRestorationProps {
  readonly event: Event;
  readonly path: string;
}

function RecordRestoration({ event, path }: RecordRestorationProps) {
  const { id, type } = event.target;
  const stored = useQuery({
    queryKey: ["record to put back", path, id],
    queryFn: async () => {
      // What an event deleted stays gone: ids are not used again.
      if (event.after === undefined) return null;
      try {
        return await readAny(`${path}/${id}`, {});
      } catch (error) {
        if (error instanceof GatehouseError && error.status === 404) return null;
        throw error;
      }
    },
  });
  if (stored.error !== null) return <ProblemNotice error={stored.error} retry={stored.refetch} />;
  if (stored.data === undefined) return <Skeleton height={48} aria-busy />;
  const restoration = restorationOf(event, stored.data?.record);
  if (restoration.kind === "impossible") return <Text c="dimmed">{restoration.why}</Text>;
  if (restoration.kind === "same")
    return <Text c="dimmed">It is now as it was before this: there is nothing to put back.</Text>;
  if (restoration.kind === "create") return <Recreation event={event} restoration={restoration} />;
  const { changes, now, before } = restoration;
  return (
    <Stack gap="sm">
      <Text>
        The record is there still. This is how it would change, whoever changed it since: what came after this event is
        undone with it.
      </Text>
      <ChangedFields before={now} after={before} titles={["Now", "Put back"]} />
      <Steps
        label="Put back what was there before"
        title={`Put ${type} ${event.target.name ?? id} back as it was`}
        changes={changes}
        changesAccess={restorerOf(type)?.changesAccess ?? true}
        etag={stored.data?.etag ?? ""}
        done={() => notifications.show({ message: "It is as it was before", color: "green" })}
      />
    </Stack>
  );
}

interface RecreationProps {
  readonly event: Event;
  readonly restoration: Extract<Restoration, { readonly kind: "create" }>;
}

function Recreation({ event, restoration }: RecreationProps) {
  const { change, notes, afterwards, changesAccess } = restoration;
  const { type, name, id } = event.target;
  const navigate = useNavigate();
  const [left, setLeft] = useState<{ readonly id: string; readonly changes: readonly PlannedChange[] }>();
  const called = `${type} ${name ?? id}`;
  const leave = (to: string) => {
    const page = pageOf(type, to);
    if (page !== undefined) void navigate({ to: page });
  };
  return (
    <Stack gap="sm">
      <Text>The record is gone. It can be made anew, with what it held before:</Text>
      <List size="sm">
        {notes.map((note) => (
          <List.Item key={note}>{note}</List.Item>
        ))}
      </List>
      <Steps
        label="Make it anew"
        title={`Make ${called} anew`}
        changes={[change]}
        changesAccess={changesAccess}
        done={(answer) => {
          const newId = idIn(answer);
          notifications.show({ message: "Made anew", color: "green" });
          referringAgain(event, newId).then((referring) => {
            const changes = [...(afterwards?.changes(newId) ?? []), ...referring];
            if (changes.length === 0) leave(newId);
            else setLeft({ id: newId, changes });
          }, notifyProblem);
        }}
      />
      {left !== undefined && (
        <ReviewDialog
          title={`${called} is there again. Put back what is left?`}
          note={formatLeft(left.changes)}
          changes={left.changes}
          label="Put back the rest"
          backLabel="Leave it at that"
          close={() => {
            setLeft(undefined);
            leave(left.id);
          }}
        />
      )}
    </Stack>
  );
}

function formatLeft(changes: readonly PlannedChange[]): string {
  const count = (form: RegExp) => changes.filter(({ path }) => form.test(path)).length;
  const parts = [
    { found: count(/^\/tenants\/users\//), one: "a member", many: "members" },
    { found: count(/^\/tenants\/policies\/[^/]+$/), one: "a policy", many: "policies" },
    { found: count(/loadBalancing$/), one: "its gateways", many: "" },
    { found: count(/deactivate$/), one: "that it was inactive", many: "" },
  ].filter(({ found }) => found > 0);
  return `Before, it had: ${parts.map(({ found, one, many }) => (found === 1 ? one : `${found} ${many}`)).join(", ")}.`;
}

interface StepsProps {
  readonly label: string;
  readonly title: string;
  readonly changes: readonly PlannedChange[];
  readonly changesAccess: boolean;
  readonly etag?: string;
  readonly done: (answer: unknown) => void;
}

/** The button, the review, and a way on where the record names others that are gone. */
function Steps({ label, title, changes, changesAccess, etag = "", done }: StepsProps) {
  const [asked, setAsked] = useState<readonly PlannedChange[]>();
  const [missing, setMissing] = useState<readonly PlannedChange[]>();
  return (
    <>
      <Group>
        <Button onClick={() => setAsked(changes)}>{label}</Button>
      </Group>
      {missing !== undefined && (
        <Alert color="yellow" variant="outline" title="Some of what it named is gone" role="alert">
          <Stack gap="sm" align="flex-start">
            <Text size="sm">
              What was deleted since cannot be named again. Everything else can be put back without it.
            </Text>
            <Button
              size="xs"
              variant="default"
              onClick={() => {
                setAsked(missing);
                setMissing(undefined);
              }}
            >
              Leave out what is gone
            </Button>
          </Stack>
        </Alert>
      )}
      {asked !== undefined && (
        <ReviewDialog
          title={title}
          changes={asked}
          changesAccess={changesAccess}
          {...(etag === "" ? {} : { etag })}
          label={label}
          close={() => setAsked(undefined)}
          done={done}
          refused={(error) => {
            const left = withoutMissing(asked, error);
            if (left === undefined) return false;
            setMissing(left);
            setAsked(undefined);
            return true;
          }}
        />
      )}
    </>
  );
}
