/** Devices with any WireGuard app: how a person adds one, and updates its file. */
import { Button, Code, FileButton, Group, List, Skeleton, Stack, Text, TextInput } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { api } from "../../app/api.ts";
import { CopyText } from "../../app/copy.tsx";
import { ProblemNotice } from "../../app/problem-notice.tsx";
import { Warning } from "../../app/warning.tsx";
import { saveFile } from "../../lists/export-rows.ts";
import { formatList } from "../../messages/format.ts";
import { t } from "../../messages/i18n.ts";
import { Dialog } from "../../records/dialog.tsx";
import { Intro } from "../../records/intro.tsx";
import { QrCode } from "../../records/qr-code.tsx";
import type { MyDevice } from "./my-data.ts";
import {
  fileName,
  formatGateways,
  formatWireGuardFile,
  privateKeyIn,
  type Routes,
  unresolvedNames,
} from "./wireguard-file.ts";
import { canMakeKeys, createWireGuardKeys, proveKey, publicKeyOf } from "./wireguard-key.ts";

/** Longer files make QR codes that the cameras of phones cannot read. */
const qrCharacters = 1_200;

/** The file that a person gets for a device. It exists only on this page. */
export interface DeviceFile {
  readonly device: MyDevice;
  readonly routes: Routes;
  readonly privateKey: string;
}

/** Makes a key pair, registers its public key, and reads the routes of the new device. */
async function addDevice(name: string): Promise<DeviceFile> {
  const keys = await createWireGuardKeys();
  const { publicKey, privateKey } = keys;
  const challenge = await api.post("/tenants/my/devices/key-challenge", { body: { publicKey } });
  const proof = await proveKey(keys, challenge);
  const body = { name, publicKey, ticket: challenge.ticket, proof };
  const device = await api.post("/tenants/my/devices", { body });
  return { device, routes: await readRoutes(device.id), privateKey };
}

function readRoutes(id: string): Promise<Routes> {
  return api.get("/tenants/my/devices/{id}/configuration", { path: { id } });
}

export function AddApp({ created }: { readonly created: (file: DeviceFile) => void }) {
  const [name, setName] = useState("");
  const queryClient = useQueryClient();
  const add = useMutation({
    mutationFn: () => addDevice(name.trim()),
    onSuccess: async (file) => {
      created(file);
      await queryClient.invalidateQueries();
    },
  });
  if (!canMakeKeys()) return <Warning>{t("my.app.insecure")}</Warning>;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    add.mutate();
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        <Intro>{t("my.app.intro")}</Intro>
        <TextInput
          label={t("my.app.name")}
          placeholder={t("common.example", { value: t("my.app.nameExample") })}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          maxLength={120}
          autoComplete="off"
          required
        />
        {add.error !== null && <ProblemNotice error={add.error} />}
        <Group justify="flex-end">
          <Button type="submit" loading={add.isPending} disabled={name.trim() === ""}>
            {t("my.app.create")}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

/** The file of a device, to scan, download or copy. Only its button closes the dialog, so that it is not lost. */
export function DeviceFileDialog({ file, close }: { readonly file: DeviceFile; readonly close: () => void }) {
  const { device, routes, privateKey } = file;
  const text = formatWireGuardFile(routes, privateKey);
  const names = unresolvedNames(routes);
  const isPending = device.approval === "pending" && routes.gateways.length === 0;
  const reason = useNoGateways(device, routes);
  return (
    <Dialog title={t("my.app.fileTitle", { name: device.name })} onClose={() => undefined} closable={false}>
      <Stack>
        {isPending ? (
          <Warning role="status">{t("my.app.pending")}</Warning>
        ) : (
          reason !== undefined && <Warning role="status">{formatNoGateways(reason)}</Warning>
        )}
        {text.length <= qrCharacters ? (
          <>
            <Text>{t("my.app.scan")}</Text>
            <Group justify="center">
              <QrCode text={text} label={t("my.app.qr", { name: device.name })} side={280} />
            </Group>
          </>
        ) : (
          <Text>{t("my.app.tooLong")}</Text>
        )}
        <Group>
          <Button onClick={() => saveFile(fileName, "application/octet-stream", text)} data-autofocus>
            {t("my.app.download")}
          </Button>
          <CopyText text={text} variant="default">
            {t("my.app.copy")}
          </CopyText>
        </Group>
        {names.length > 0 && <Text>{t("my.app.names", { names: formatList(names.slice(0, 20)) })}</Text>}
        <Warning>{t("my.app.secret")}</Warning>
        <Group justify="flex-end">
          <Button variant="default" onClick={close}>
            {t("my.app.done")}
          </Button>
        </Group>
      </Stack>
    </Dialog>
  );
}

/** Blocked resources whose reasons are requested. */
const mostExplained = 5;

type NoGateways = "noAccess" | "unserved" | "needsAgent";

/** Why a device has no gateways. Undefined if it has some, and while the reason loads. */
function useNoGateways({ id }: Pick<MyDevice, "id">, routes: Routes): NoGateways | undefined {
  const isUnserved = (routes.unserved?.addresses.length ?? 0) > 0;
  const isAsked = routes.gateways.length === 0 && !isUnserved;
  const { data, isError } = useQuery({
    queryKey: ["/tenants/my/access", id, "without gateways"],
    enabled: isAsked,
    queryFn: async ({ signal }): Promise<NoGateways> => {
      const found = await api.get("/tenants/my/access", { query: { device: id, limit: mostExplained }, signal });
      if (found.data.some(({ state }) => state === "unavailable")) return "unserved";
      const answers = found.data.map((resource) =>
        api.post("/tenants/my/access/explanation", { body: { to: resource.id, device: id }, signal }),
      );
      const reasons = (await Promise.all(answers)).map(({ missing }) => missing);
      const isAll = found.total === reasons.length && reasons.length > 0;
      return isAll && reasons.every((missing) => missing.some(({ kind }) => kind === "agent_required"))
        ? "needsAgent"
        : "noAccess";
    },
  });
  if (routes.gateways.length > 0) return undefined;
  if (isUnserved) return "unserved";
  return isError ? "noAccess" : data;
}

/** A temporary reason also says when to update the file. */
function formatNoGateways(reason: NoGateways): string {
  return reason === "needsAgent" ? t("my.app.needsAgent") : t("my.app.updateLater", { reason: t(`my.app.${reason}`) });
}

interface UpdateDialogProps {
  readonly device: MyDevice;
  readonly close: () => void;
  readonly updated: (file: DeviceFile) => void;
}

/** Puts the current gateways into the file that the person saved. The file is read here, and sent nowhere. */
export function UpdateDialog({ device, close, updated }: UpdateDialogProps) {
  const [problem, setProblem] = useState<string>();
  const { data: routes, error } = useQuery({
    queryKey: ["/tenants/my/devices/{id}/configuration", device.id],
    queryFn: () => readRoutes(device.id),
    // Earlier routes must not get into the file.
    gcTime: 0,
  });
  const choose = async (chosen: File | null) => {
    if (chosen === null || routes === undefined) return;
    const privateKey = privateKeyIn(await chosen.text());
    if (privateKey === undefined) return setProblem(t("my.app.noKey"));
    if ((await publicKeyOf(privateKey)) !== device.publicKey) return setProblem(t("my.app.otherKey"));
    updated({ device, routes, privateKey });
  };
  return (
    <Dialog title={t("my.app.updateTitle", { name: device.name })} onClose={close}>
      <Stack>
        <Intro>{t("my.app.updateIntro")}</Intro>
        {error !== null && <ProblemNotice error={error} />}
        <List type="ordered" spacing="sm">
          <List.Item>
            {t("my.app.chooseStep")}
            <Group mt={6}>
              <FileButton onChange={(chosen) => void choose(chosen)} accept=".conf,text/plain">
                {(props) => (
                  <Button
                    {...props}
                    size="xs"
                    variant="default"
                    disabled={routes === undefined}
                    data-autofocus={routes === undefined ? undefined : true}
                  >
                    {t("my.app.choose")}
                  </Button>
                )}
              </FileButton>
            </Group>
          </List.Item>
          <List.Item>{t("my.app.importStep")}</List.Item>
        </List>
        <div aria-live="polite">{problem !== undefined && <Text c="red">{problem}</Text>}</div>
        {routes !== undefined && <Gateways device={device} routes={routes} />}
        <Text size="sm">{t("my.app.lost")}</Text>
      </Stack>
    </Dialog>
  );
}

function Gateways({ device, routes }: { readonly device: MyDevice; readonly routes: Routes }) {
  const text = formatGateways(routes);
  const reason = useNoGateways(device, routes);
  if (text === "")
    return reason === undefined ? <Skeleton height={24} aria-busy /> : <Text>{formatNoGateways(reason)}</Text>;
  return (
    <Stack gap="xs">
      <Text>{t("my.app.paste")}</Text>
      <Code block aria-label={t("my.app.gateways")} tabIndex={0} style={{ maxHeight: 160, overflow: "auto" }}>
        {text}
      </Code>
      <Group>
        <CopyText text={text} size="xs" variant="default">
          {t("my.app.copyGateways")}
        </CopyText>
      </Group>
    </Stack>
  );
}
