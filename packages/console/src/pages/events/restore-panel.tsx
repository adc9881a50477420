/** Restores the state before an event, with the same review as any other change. */
import { GatehouseError } from "@gatehouse/client/errors";
import { Alert, Button, Group, List, Skeleton, Stack, Text } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { api } from "../../app/api.ts";
import { ProblemNotice } from "../../app/problem-notice.tsx";
import { useSession } from "../../app/session.ts";
import { formatList } from "../../messages/format.ts";
import { t } from "../../messages/i18n.ts";
import type { PlannedChange } from "../../records/planned-change.ts";
import { idIn } from "../../records/record-form.tsx";
import { Panel } from "../../records/record-page.tsx";
import { ReviewDialog } from "../../records/reviewed-change.tsx";
import { notifyProblem } from "../../records/use-record.ts";
import { ChangedFields } from "./changed-fields-table.tsx";
import { formatTarget } from "./format-target.ts";
import { OrderRestoration } from "./order-restoration.tsx";
import { pageOf } from "./record-pages.ts";
import { referringAgain } from "./referring-again.ts";
import { type Event, type Restoration, restorationOf, whyImpossible } from "./restore.ts";
import { revertPlanOf } from "./revert-plans.ts";
import { withoutMissing } from "./without-missing.ts";

type Read = (
  path: string,
  options: object,
) => Promise<{ readonly record: Record<string, unknown>; readonly etag: string }>;
const readAny = api.read as unknown as Read; // each type that can be restored has its own path

export function RestorePanel({ event }: { readonly event: Event }) {
  const { permissions } = useSession();
  const { type } = event.target;
  const revertPlan = revertPlanOf(type);
  const why = whyImpossible(event);
  const canWrite =
    revertPlan === undefined ||
    permissions.includes(revertPlan.permission) ||
    (revertPlan.createPermission !== undefined && permissions.includes(revertPlan.createPermission));
  if (!canWrite) return null;
  return (
    <Panel title={t("events.restore.title")}>
      {why !== undefined ? (
        <Text c="dimmed">{why}</Text>
      ) : event.operation === "reorderPolicies" ? (
        <OrderRestoration event={event} />
      ) : (
        <RecordRestoration event={event} path={revertPlan?.path ?? ""} />
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
    queryKey: ["record to restore", path, id],
    queryFn: async () => {
      // A deleted record never comes back under its id.
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
  if (restoration.kind === "same") return <Text c="dimmed">{t("events.restore.same")}</Text>;
  if (restoration.kind === "create") return <Recreation event={event} restoration={restoration} />;
  const { changes, now, before } = restoration;
  return (
    <Stack gap="sm">
      <Text>{t("events.restore.update.text")}</Text>
      <ChangedFields
        before={now}
        after={before}
        titles={[t("events.restore.update.columns.now"), t("events.restore.update.columns.restored")]}
      />
      <Steps
        label={t("events.restore.update.label")}
        title={t("events.restore.update.title", { record: recordName(event) })}
        changes={changes}
        changesAccess={revertPlanOf(type)?.changesAccess ?? true}
        etag={stored.data?.etag ?? ""}
        done={() => notifications.show({ message: t("events.restore.update.done"), color: "green" })}
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
  const { type } = event.target;
  const navigate = useNavigate();
  const [left, setLeft] = useState<{ readonly id: string; readonly changes: readonly PlannedChange[] }>();
  const record = recordName(event);
  const openRecord = (to: string) => {
    const page = pageOf(type, to);
    if (page !== undefined) void navigate({ to: page });
  };
  return (
    <Stack gap="sm">
      <Text>{t("events.restore.create.text")}</Text>
      <List size="sm">
        {notes.map((note) => (
          <List.Item key={note}>{note}</List.Item>
        ))}
      </List>
      <Steps
        label={t("events.restore.create.label")}
        title={t("events.restore.create.title", { record })}
        changes={[change]}
        changesAccess={changesAccess}
        done={(answer) => {
          const newId = idIn(answer);
          notifications.show({ message: t("events.restore.create.done"), color: "green" });
          referringAgain(event, newId).then((referring) => {
            const changes = [...(afterwards?.changes(newId) ?? []), ...referring];
            if (changes.length === 0) openRecord(newId);
            else setLeft({ id: newId, changes });
          }, notifyProblem);
        }}
      />
      {left !== undefined && (
        <ReviewDialog
          title={t("events.restore.left.title", { record })}
          note={formatLeft(left.changes)}
          changes={left.changes}
          label={t("events.restore.left.label")}
          backLabel={t("events.restore.left.done")}
          close={() => {
            setLeft(undefined);
            openRecord(left.id);
          }}
        />
      )}
    </Stack>
  );
}

function recordName({ target: { type, name, id } }: Event): string {
  return t("events.restore.record", { type: formatTarget(type), name: name ?? id });
}

function formatLeft(changes: readonly PlannedChange[]): string {
  const countOf = (form: RegExp) => changes.filter(({ path }) => form.test(path)).length;
  const members = countOf(/^\/tenants\/users\//);
  const policies = countOf(/^\/tenants\/policies\/[^/]+$/);
  const parts = [
    ...(members > 0 ? [t("events.restore.left.members", { count: members })] : []),
    ...(policies > 0 ? [t("events.restore.left.policies", { count: policies })] : []),
    ...(countOf(/loadBalancing$/) > 0 ? [t("events.restore.left.gateways")] : []),
    ...(countOf(/deactivate$/) > 0 ? [t("events.restore.left.inactive")] : []),
  ];
  return t("events.restore.left.note", { parts: formatList(parts) });
}

interface StepsProps {
  readonly label: string;
  readonly title: string;
  readonly changes: readonly PlannedChange[];
  readonly changesAccess: boolean;
  readonly etag?: string;
  readonly done: (answer: unknown) => void;
}

/** The button, the review, and a second attempt without references to deleted records. */
function Steps({ label, title, changes, changesAccess, etag = "", done }: StepsProps) {
  const [reviewed, setReviewed] = useState<readonly PlannedChange[]>();
  const [missing, setMissing] = useState<readonly PlannedChange[]>();
  return (
    <>
      <Group>
        <Button onClick={() => setReviewed(changes)}>{label}</Button>
      </Group>
      {missing !== undefined && (
        <Alert color="yellow" variant="outline" title={t("events.restore.missing.title")} role="alert">
          <Stack gap="sm" align="flex-start">
            <Text size="sm">{t("events.restore.missing.text")}</Text>
            <Button
              size="xs"
              variant="default"
              onClick={() => {
                setReviewed(missing);
                setMissing(undefined);
              }}
            >
              {t("events.restore.missing.label")}
            </Button>
          </Stack>
        </Alert>
      )}
      {reviewed !== undefined && (
        <ReviewDialog
          title={title}
          changes={reviewed}
          changesAccess={changesAccess}
          {...(etag === "" ? {} : { etag })}
          label={label}
          close={() => setReviewed(undefined)}
          done={done}
          refused={(error) => {
            const left = withoutMissing(reviewed, error);
            if (left === undefined) return false;
            setMissing(left);
            setReviewed(undefined);
            return true;
          }}
        />
      )}
    </>
  );
}
