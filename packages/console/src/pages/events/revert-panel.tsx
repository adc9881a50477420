/** Reverts an event. The API plans and performs the revert; the console shows its preview first. */
import { GatehouseError } from "@gatehouse/client/errors";
import { Button, Checkbox, Group, Skeleton, Stack, Text } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { api } from "../../app/api.ts";
import { ProblemNotice } from "../../app/problem-notice.tsx";
import { useSession } from "../../app/session.ts";
import { Warning } from "../../app/warning.tsx";
import { t } from "../../messages/i18n.ts";
import { Dialog } from "../../records/dialog.tsx";
import { Intro } from "../../records/intro.tsx";
import { Panel } from "../../records/record-page.tsx";
import { pageOf } from "../../records/record-pages.ts";
import { ReviewedChange } from "../../records/reviewed-change.tsx";
import type { Event } from "./event.ts";
import { formatNamedTarget } from "./format-target.ts";
import { type Revert, RevertDetails } from "./revert-details.tsx";

const path = "/tenants/events/{id}/revert";

interface RevertPanelProps {
  readonly event: Event;
  /** Whether the event was reverted before. */
  readonly isReverted: boolean;
}

/** The button and its dialog. Keys that cannot write see neither. */
export function RevertPanel({ event, isReverted }: RevertPanelProps) {
  const { permissions } = useSession();
  const [opened, setOpened] = useState(false);
  if (!permissions.some((permission) => permission.endsWith(":write"))) return null;
  return (
    <Panel title={t("events.revert.title")}>
      <Stack gap="sm">
        <Intro>{t(isReverted ? "events.revert.already" : "events.revert.text")}</Intro>
        <Group>
          <Button size="xs" variant={isReverted ? "default" : "filled"} onClick={() => setOpened(true)}>
            {t("events.revert.preview")}
          </Button>
        </Group>
      </Stack>
      {opened && <RevertDialog event={event} close={() => setOpened(false)} />}
    </Panel>
  );
}

/** The revert of one event is the default. */
function scopeOf(isWhole: boolean): { readonly scope?: "request" } {
  return isWhole ? { scope: "request" } : {};
}

interface RevertDialogProps {
  readonly event: Event;
  readonly close: () => void;
}

function RevertDialog({ event, close }: RevertDialogProps) {
  const [isOvertaken, setOvertaken] = useState(false);
  const [isWhole, setWhole] = useState(false);
  const preview = useQuery({
    // A preview describes the current state, so it is neither cached nor refetched with other queries.
    queryKey: ["preview", path, event.id, isWhole],
    staleTime: 0,
    gcTime: 0,
    refetchOnWindowFocus: false,
    queryFn: ({ signal }) =>
      api.post(path, {
        path: { id: event.id },
        query: { preview: true, ...scopeOf(isWhole) },
        signal,
      }),
  });
  return (
    <Dialog onClose={close} title={t("events.revert.dialog", { record: formatNamedTarget(event.target, true) })}>
      <Stack>
        {isOvertaken && (
          <Warning title={t("events.revert.overtaken.title")} role="alert">
            {t("events.revert.overtaken.text")}
          </Warning>
        )}
        {preview.data !== undefined && preview.data.requestEvents > 1 && (
          <Stack gap="xs">
            {!isWhole && <Text>{t("events.revert.ofRequest", { count: preview.data.requestEvents })}</Text>}
            <Checkbox
              label={t("events.revert.all", { count: preview.data.requestEvents })}
              checked={isWhole}
              onChange={({ currentTarget }) => setWhole(currentTarget.checked)}
            />
          </Stack>
        )}
        {preview.error !== null ? (
          <ProblemNotice error={preview.error} retry={preview.refetch} />
        ) : preview.data === undefined ? (
          <Skeleton height={120} aria-busy />
        ) : (
          <ReviewedRevert
            // A new preview discards the state of the previous one.
            key={`${preview.data.generation} ${preview.data.scope}`}
            preview={preview.data}
            close={close}
            overtaken={() => {
              setOvertaken(true);
              void preview.refetch();
            }}
          />
        )}
      </Stack>
    </Dialog>
  );
}

interface ReviewedRevertProps {
  readonly preview: Revert;
  readonly close: () => void;
  /** Called if the tenant has changed since the preview. */
  readonly overtaken: () => void;
}

function ReviewedRevert({ preview, close, overtaken }: ReviewedRevertProps) {
  const navigate = useNavigate();
  const { changes, refused, access, generation, event, scope } = preview;
  const details = <RevertDetails revert={preview} />;
  if (changes.length === 0 || refused !== undefined) {
    return (
      <>
        {details}
        <Group justify="flex-end">
          <Button variant="default" onClick={close}>
            {t("common.close")}
          </Button>
        </Group>
      </>
    );
  }
  const run = async (overrideReason: string | undefined) => {
    const { recreated } = await api.post(path, {
      path: { id: event },
      query: scopeOf(scope === "request"),
      ifMatch: `"${generation}"`,
      ...(overrideReason === undefined ? {} : { overrideReason }),
    });
    notifications.show({ message: t("events.revert.done"), color: "green" });
    close();
    const page = recreated?.id === undefined ? undefined : pageOf(recreated.type, recreated.id);
    if (page !== undefined) void navigate({ to: page });
  };
  return (
    <ReviewedChange
      changes={changes}
      {...(access === undefined ? {} : { effect: access })}
      note={details}
      label={t("events.revert.label")}
      backLabel={t("common.cancel")}
      back={close}
      run={run}
      done={() => undefined}
      refused={(error) => {
        if (!(error instanceof GatehouseError) || error.code !== "precondition_failed") return false;
        overtaken();
        return true;
      }}
    />
  );
}
