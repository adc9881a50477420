import type { ResultOf } from "@gatehouse/client/calls";
import { Button, Code } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useNavigate, useParams } from "@tanstack/react-router";
import { usePermission } from "../../app/session.ts";
import { t } from "../../messages/i18n.ts";
import { textWithCode } from "../../messages/text-with-code.tsx";
import { AccessTab } from "../../records/access-tab.tsx";
import { DeleteRecord } from "../../records/delete-record.tsx";
import { EndOfDeviceSession, StateOfDeviceSession, sessionStateOf } from "../../records/device-session-state.tsx";
import { isCutOffByUser, StatusOfDevice } from "../../records/device-status.tsx";
import { EmptyState } from "../../records/empty-list.tsx";
import { factOf } from "../../records/fact.tsx";
import type { Field } from "../../records/form-fields.tsx";
import { Literals } from "../../records/literals.tsx";
import { MoreActions } from "../../records/more-actions.tsx";
import { notSignedInText } from "../../records/not-signed-in-text.tsx";
import { RecordForm } from "../../records/record-form.tsx";
import { RecordLink } from "../../records/record-link.tsx";
import { type Fact, Facts, Panel, RecordPage } from "../../records/record-page.tsx";
import { RecordTabs } from "../../records/record-tabs.tsx";
import { RelativeTime } from "../../records/relative-time.tsx";
import { RequireSignIn } from "../../records/require-sign-in.tsx";
import { ReviewedButton } from "../../records/reviewed-change.tsx";
import { readRecord, useRecord } from "../../records/use-record.ts";
import { DeviceRoutes } from "./device-routes.tsx";
import { RotateDeviceToken } from "./device-token.tsx";

const path = "/tenants/devices/{id}";
type Device = ResultOf<typeof path, "get">;

const tagFields: readonly Field[] = [
  {
    kind: "words",
    name: "tags",
    label: t("devices.fields.tags"),
    description: textWithCode("devices.tags.help"),
    example: "build",
  },
];

export function DevicePage() {
  const { id = "" } = useParams({ strict: false });
  const { data, error, refetch } = useRecord(path, id, 30_000);
  const device = data?.record;
  const canAsk = usePermission("decisions:read");
  return (
    <RecordPage
      list={{ to: "/devices", title: t("devices.title") }}
      title={device?.name}
      status={device && <StatusOfDevice device={device} />}
      actions={data && <Actions device={data.record} etag={data.etag} />}
      graph={device && `/access?view=graph&focus=device:${device.id}`}
      error={error}
      retry={refetch}
    >
      {device && (
        <RecordTabs access={canAsk ? <AccessTab of={{ device: device.id }} createdAt={device.createdAt} /> : undefined}>
          <Panel title={t("common.about")}>
            <Facts
              facts={[
                {
                  label: t("devices.fields.user"),
                  value: device.user && <RecordLink to={`/users/${device.user.id}`}>{device.user.email}</RecordLink>,
                },
                ...(isCutOffByUser(device)
                  ? [{ label: t("devices.userDeactivated.label"), value: t("devices.userDeactivated.text") }]
                  : []),
                { label: t("devices.fields.system"), value: [device.os, device.osVersion].filter(Boolean).join(" ") },
                {
                  label: t("devices.fields.agent"),
                  value: device.agent === false ? t("devices.otherApp") : device.appVersion,
                },
                { label: t("devices.fields.hardwareId"), value: <Code>{device.hardwareId}</Code> },
                { label: t("devices.fields.publicKey"), value: <Code className="long-key">{device.publicKey}</Code> },
                { label: t("devices.fields.tags"), value: device.tags.length > 0 && <Literals texts={device.tags} /> },
                {
                  label: t("devices.fields.enrolmentKey"),
                  value: device.enrolmentKey && (
                    <RecordLink to={`/enrolment-keys/${device.enrolmentKey}`}>
                      {t("devices.fields.showEnrolmentKey")}
                    </RecordLink>
                  ),
                },
                { label: t("devices.fields.lastConnection"), value: <RelativeTime at={device.lastConnection} /> },
                ...sessionFacts(device),
                { label: t("devices.fields.enrolled"), value: <RelativeTime at={device.createdAt} /> },
              ]}
            />
          </Panel>
          <Panel title={t("devices.posture")}>
            {Object.keys(device.posture ?? {}).length === 0 ? (
              <NoPosture device={device} />
            ) : (
              <Facts facts={Object.entries(device.posture ?? {}).map(([name, value]) => factOf(name, value))} />
            )}
          </Panel>
          <DeviceRoutes id={device.id} />
        </RecordTabs>
      )}
    </RecordPage>
  );
}

/** The session in the words of the list of sessions. Servers have none. */
function sessionFacts(device: Device): readonly Fact[] {
  const state = sessionStateOf(device);
  if (state === undefined) return [];
  const { signedInAt, endsAt, endReason } = device.session ?? {};
  const end = endsAt === undefined ? {} : { endsAt };
  const isOver = state === "ended" || state === "expired";
  return [
    {
      label: t("devices.fields.session"),
      value: <StateOfDeviceSession session={{ state, ...end }} />,
      note: state === "not-signed-in" ? notSignedInText : undefined,
    },
    { label: t("devices.fields.signedIn"), value: <RelativeTime at={signedInAt} /> },
    // A deactivation ends a session without a time.
    ...(isOver && endsAt === undefined
      ? []
      : [{ label: t("devices.fields.sessionEnd"), value: <EndOfDeviceSession session={{ state, ...end }} /> }]),
    ...(isOver && endReason !== undefined
      ? [{ label: t("deviceSessions.fields.endReason"), value: t(`deviceSessions.reasons.${endReason}`) }]
      : []),
  ];
}

/** Devices with a WireGuard app never report a posture; others report it when they connect. */
function NoPosture({ device }: { readonly device: Device }) {
  const isReported = device.agent !== false;
  return (
    <EmptyState
      isPart
      empty={{
        title: isReported ? t("devices.postureEmpty") : t("devices.postureNone"),
        text: isReported ? t("devices.postureEmptyText") : t("devices.postureNoneText"),
        guide: "access#what-rules-read",
      }}
    />
  );
}

function Actions({ device, etag }: { readonly device: Device; readonly etag: string }) {
  const canWrite = usePermission("devices:write");
  const navigate = useNavigate();
  const at = `/tenants/devices/${device.id}`;
  const isPending = device.approval === "pending";
  const [isTagging, tagging] = useDisclosure(false);
  if (!canWrite) return null;
  const activation = device.active ? (
    <ReviewedButton
      key="deactivate"
      action="deactivate"
      label={t("devices.deactivate.label")}
      title={t("devices.deactivate.title", { name: device.name })}
      note={t("devices.deactivate.note")}
      changes={[{ method: "PATCH", path: `${at}/deactivate` }]}
      etag={etag}
      doneMessage={t("devices.deactivate.done")}
      danger
    />
  ) : (
    device.user !== undefined && (
      <ReviewedButton
        key="reactivate"
        label={isPending ? t("devices.approval.approve") : t("devices.reactivate.label")}
        title={t(isPending ? "devices.approval.approveTitle" : "devices.reactivate.title", { name: device.name })}
        note={isPending ? t("devices.approval.approveNote") : t("devices.reactivate.note")}
        changes={[{ method: "POST", path: `${at}/reactivate` }]}
        etag={etag}
        doneMessage={isPending ? t("devices.approval.approved") : t("devices.reactivate.done")}
      />
    )
  );
  const deletion = (
    <DeleteRecord
      key="delete"
      {...(isPending ? { label: t("devices.approval.refuse") } : {})}
      title={t("devices.delete.title", { name: device.name })}
      effect={isPending ? t("devices.approval.refuseEffect") : t("devices.delete.effect")}
      path={at}
      etag={etag}
      done={() => void navigate({ to: "/devices" })}
    />
  );
  return (
    <>
      {isPending && deletion}
      {activation}
      <MoreActions>
        <ReviewedButton
          key="resetKey"
          label={t("devices.resetKey.label")}
          title={t("devices.resetKey.title", { name: device.name })}
          note={t("devices.resetKey.note")}
          changes={[{ method: "POST", path: `${at}/reset-key` }]}
          etag={etag}
          doneMessage={t("devices.resetKey.done")}
        />
        <RotateDeviceToken device={device} etag={etag} />
        {device.enrolmentKey === undefined && device.user !== undefined && !isPending && (
          <RequireSignIn key="ask" target={{ kind: "device", id: device.id, name: device.name }} />
        )}
        {!isPending && deletion}
      </MoreActions>
      <Button key="tags" onClick={tagging.open}>
        {t("devices.tags.label")}
      </Button>
      {isTagging && (
        <RecordForm
          title={t("devices.tags.title", { name: device.name })}
          fields={tagFields}
          initial={{ tags: device.tags }}
          submitLabel={t("common.save")}
          plan={({ tags }) => [{ method: "PUT", path: `${at}/tags`, body: { tags } }]}
          close={tagging.close}
          edits={{
            etag,
            reload: async () => {
              const stored = await readRecord(path, device.id);
              return { values: { tags: stored.record.tags }, etag: stored.etag };
            },
          }}
        />
      )}
    </>
  );
}
