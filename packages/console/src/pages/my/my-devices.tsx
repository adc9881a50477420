/** The person's devices: add, rename and remove, within the limit. */
import { Button, Group, Radio, Stack, Text, TextInput } from "@mantine/core";
import { type Query, type QueryClient, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { api } from "../../app/api.ts";
import { ProblemNotice } from "../../app/problem-notice.tsx";
import { formatZonedTime } from "../../messages/format.ts";
import { t } from "../../messages/i18n.ts";
import { Dialog } from "../../records/dialog.tsx";
import { OwnName } from "../../records/own-name.tsx";
import { PanelTable } from "../../records/panel-table.tsx";
import { Panel } from "../../records/record-page.tsx";
import { RelativeTime } from "../../records/relative-time.tsx";
import { Status, type Tone } from "../../records/status.tsx";
import { useEditing } from "../../records/use-editing.ts";
import { useAction } from "../../records/use-record.ts";
import { ConnectSteps } from "./connect.tsx";
import { type MyDevice, myDevicesKey, useMyDevices, useMyself } from "./my-data.ts";
import { AddApp, type DeviceFile, DeviceFileDialog, UpdateDialog } from "./wireguard-app.tsx";

type Open =
  | { readonly kind: "rename" | "remove" | "update"; readonly device: MyDevice }
  | { readonly kind: "file"; readonly file: DeviceFile };

export function MyDevices() {
  const { data: devices, error, refetch } = useMyDevices();
  const { data: myself } = useMyself();
  const [open, setOpen] = useState<Open>();
  // The first steps of an administrator lead here, with the dialog open.
  const [isAdding, adding] = useEditing("add");
  const close = () => {
    setOpen(undefined);
    adding.close();
  };
  const isFull = myself !== undefined && devices !== undefined && devices.length >= myself.deviceLimit;
  return (
    <Panel
      title={t("my.devices.title")}
      actions={
        <Button size="xs" disabled={isFull} onClick={adding.open}>
          {t("my.devices.add")}
        </Button>
      }
    >
      <Stack>
        {error !== null && <ProblemNotice error={error} retry={refetch} />}
        {devices?.length === 0 && <Text c="dimmed">{t("my.devices.empty")}</Text>}
        {devices !== undefined && devices.length > 0 && <DeviceTable devices={devices} open={setOpen} />}
        {isFull && <Text>{t("my.devices.full")}</Text>}
        {myself !== undefined && devices !== undefined && (
          <Text size="sm" c="dimmed">
            {t("my.devices.count", { count: devices.length, limit: myself.deviceLimit })}
          </Text>
        )}
      </Stack>
      {isAdding && !isFull && open === undefined && (
        <AddDialog
          close={close}
          created={(file) => {
            adding.close();
            setOpen({ kind: "file", file });
          }}
        />
      )}
      {open?.kind === "file" && <DeviceFileDialog file={open.file} close={close} />}
      {open?.kind === "update" && (
        <UpdateDialog device={open.device} close={close} updated={(file) => setOpen({ kind: "file", file })} />
      )}
      {open?.kind === "rename" && <RenameDialog device={open.device} close={close} />}
      {open?.kind === "remove" && <RemoveDialog device={open.device} close={close} />}
    </Panel>
  );
}

const systems = ["app", "agent"] as const;

function AddDialog({ close, created }: { readonly close: () => void; readonly created: (file: DeviceFile) => void }) {
  const [system, setSystem] = useState<(typeof systems)[number]>("app");
  return (
    <Dialog title={t("my.devices.add")} onClose={close}>
      <Stack>
        <Radio.Group
          label={t("my.devices.system")}
          value={system}
          onChange={(chosen) => setSystem(chosen === "agent" ? "agent" : "app")}
        >
          <Stack gap="xs" mt="xs">
            {systems.map((each) => (
              <Radio key={each} value={each} label={t(`my.devices.systems.${each}`)} />
            ))}
          </Stack>
        </Radio.Group>
        {system === "app" ? <AddApp created={created} /> : <ConnectSteps />}
      </Stack>
    </Dialog>
  );
}

function DeviceTable({
  devices,
  open,
}: {
  readonly devices: readonly MyDevice[];
  readonly open: (open: Open) => void;
}) {
  return (
    <PanelTable
      rows={devices}
      columns={[
        {
          title: t("my.devices.name"),
          cell: (device) => (
            <>
              <OwnName>{device.name}</OwnName>
              <div>
                <DeviceState device={device} />
              </div>
              <SessionState device={device} />
            </>
          ),
        },
        {
          title: t("my.devices.lastConnection"),
          isBelow: true,
          cell: ({ lastConnection }) => <RelativeTime at={lastConnection} />,
        },
      ]}
      actions={(device) => (
        <Group gap="xs" justify="flex-end">
          {device.agent === false && <AppActions device={device} open={open} />}
          <Button
            size="xs"
            variant="default"
            aria-label={t("my.devices.renameLabel", { name: device.name })}
            onClick={() => open({ kind: "rename", device })}
          >
            {t("my.devices.rename")}
          </Button>
          <Button
            size="xs"
            variant="default"
            aria-label={t("my.devices.removeLabel", { name: device.name })}
            onClick={() => open({ kind: "remove", device })}
          >
            {t("my.devices.remove")}
          </Button>
        </Group>
      )}
    />
  );
}

const tones = { connected: "good", idle: "idle", off: "idle", pending: "waiting" } as const satisfies Record<
  string,
  Tone
>;

function DeviceState({ device }: { readonly device: MyDevice }) {
  const state =
    device.approval === "pending"
      ? "pending"
      : device.status === "Online"
        ? "connected"
        : device.status === "Offline"
          ? "idle"
          : "off";
  return <Status tone={tones[state]}>{t(`my.devices.states.${state}`)}</Status>;
}

/** When the person has to sign in again for the device, and how. */
function SessionState({ device }: { readonly device: MyDevice }) {
  const { session, agent, active } = device;
  if (session?.endsAt === undefined || !active) return null;
  if (!hasEnded(session)) {
    return (
      <Text size="sm" c="dimmed">
        {t("my.devices.signedInUntil", { time: formatZonedTime(session.endsAt) })}
      </Text>
    );
  }
  return <Text size="sm">{t(agent === false ? "my.devices.endedApp" : "my.devices.endedAgent")}</Text>;
}

function hasEnded({ endsAt, ended }: NonNullable<MyDevice["session"]>): boolean {
  return ended === true || (endsAt !== undefined && Date.parse(endsAt) <= Date.now());
}

function AppActions({ device, open }: { readonly device: MyDevice; readonly open: (open: Open) => void }) {
  const { id, name, session, active } = device;
  const signIn = useAction({
    run: () => api.post("/tenants/my/devices/{id}/sign-in", { path: { id } }),
    done: t("my.devices.signInDone"),
  });
  return (
    <>
      {active && session !== undefined && (
        <Button
          size="xs"
          variant={hasEnded(session) ? "filled" : "default"}
          loading={signIn.isPending}
          aria-label={t("my.devices.signInLabel", { name })}
          onClick={() => signIn.mutate()}
        >
          {t("my.devices.signIn")}
        </Button>
      )}
      <Button
        size="xs"
        variant="default"
        aria-label={t("my.devices.updateLabel", { name })}
        onClick={() => open({ kind: "update", device })}
      >
        {t("my.devices.update")}
      </Button>
    </>
  );
}

interface DeviceDialogProps {
  readonly device: MyDevice;
  readonly close: () => void;
}

function RenameDialog({ device, close }: DeviceDialogProps) {
  const [name, setName] = useState(device.name);
  const rename = useAction({
    run: async () => {
      await api.patch("/tenants/my/devices/{id}", { path: { id: device.id }, body: { name: name.trim() } });
      close();
    },
    done: t("my.devices.renameDone"),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    rename.mutate();
  };
  return (
    <Dialog title={t("my.devices.renameTitle", { name: device.name })} onClose={close}>
      <form onSubmit={submit}>
        <Stack>
          <TextInput
            label={t("my.devices.name")}
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
            maxLength={120}
            required
            data-autofocus
          />
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              {t("common.cancel")}
            </Button>
            <Button type="submit" loading={rename.isPending} disabled={name.trim() === ""}>
              {t("my.devices.save")}
            </Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  );
}

/** Removes answers about a removed device, which would otherwise be requested again. */
function forgetDevice(queryClient: QueryClient, id: string): void {
  queryClient.setQueryData<readonly MyDevice[]>(myDevicesKey, (devices) => devices?.filter((other) => other.id !== id));
  queryClient.removeQueries({ predicate: isAbout(id) });
}

/** Selects questions about the access of a device. */
const isAbout =
  (id: string) =>
  ({ queryKey: [path, given] }: Pick<Query, "queryKey">) =>
    String(path).startsWith("/tenants/my/access") && (given as { device?: string } | undefined)?.device === id;

function RemoveDialog({ device, close }: DeviceDialogProps) {
  const queryClient = useQueryClient();
  const remove = useAction({
    run: async () => {
      // A question that arrives after the removal would fail.
      await queryClient.cancelQueries({ predicate: isAbout(device.id) });
      await api.delete("/tenants/my/devices/{id}", { path: { id: device.id } });
      forgetDevice(queryClient, device.id);
      close();
    },
    done: t("my.devices.removeDone"),
  });
  return (
    <Dialog title={t("my.devices.removeTitle", { name: device.name })} onClose={close}>
      <Stack>
        <Text>{t("my.devices.removeEffect")}</Text>
        <Group justify="flex-end">
          <Button variant="default" onClick={close} data-autofocus>
            {t("common.cancel")}
          </Button>
          <Button color="red" loading={remove.isPending} onClick={() => remove.mutate()}>
            {t("my.devices.remove")}
          </Button>
        </Group>
      </Stack>
    </Dialog>
  );
}
