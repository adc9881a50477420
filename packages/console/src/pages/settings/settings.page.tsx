/** The settings of the tenant as a whole, and the key that signs configurations. */
import type { ResultOf } from "@gatehouse/client/calls";
import { Button, Code, Group, NumberInput, Skeleton, Stack, Switch, Text, Title } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { type FormEvent, useEffect, useState } from "react";
import { api } from "../../app/api.ts";
import { ProblemNotice } from "../../app/problem-notice.tsx";
import { usePermission, useSession } from "../../app/session.ts";
import { t } from "../../messages/i18n.ts";
import type { Field } from "../../records/form-fields.tsx";
import { RecordForm } from "../../records/record-form.tsx";
import { Facts, Panel } from "../../records/record-page.tsx";
import { ReviewDialog } from "../../records/reviewed-change.tsx";
import { useAction } from "../../records/use-record.ts";

const path = "/tenants/settings";
const minuteSeconds = 60;
/** The limits that the API documents, in minutes. */
const limits = {
  configurationLifetime: { min: 10, max: 7 * 24 * 60 },
  sessionLifetime: { min: 5, max: 30 * 24 * 60 },
  sessionIdleTime: { min: 5, max: 30 * 24 * 60 },
  deviceSessionLifetime: { min: 15, max: 365 * 24 * 60 },
} as const;

type Settings = ResultOf<typeof path, "get">;

export function SettingsPage() {
  const { tenant } = useSession();
  useEffect(() => {
    document.title = t("common.documentTitle", { title: t("settings.title") });
  }, []);
  const { data, error, refetch } = useQuery({ queryKey: [path], queryFn: () => api.read(path) });
  return (
    <Stack>
      <Title order={1}>{t("settings.title")}</Title>
      <Panel title={t("settings.tenant")}>
        <Facts
          facts={[
            { label: t("common.name"), value: tenant.name },
            { label: t("settings.id"), value: <Code>{tenant.id}</Code> },
          ]}
        />
      </Panel>
      {error !== null ? (
        <ProblemNotice error={error} retry={refetch} />
      ) : data === undefined ? (
        <Skeleton height={120} aria-busy />
      ) : (
        // A new version starts the form again.
        <SettingsForm key={data.etag} settings={data.record} etag={data.etag} />
      )}
      <SigningKey />
    </Stack>
  );
}

function SettingsForm({ settings, etag }: { readonly settings: Settings; readonly etag: string }) {
  const canWrite = usePermission("settings:write");
  const [values, setValues] = useState(settings);
  const save = useAction({
    run: () => api.put(path, { body: values, ifMatch: etag }),
    done: t("settings.saved"),
  });
  const [isReviewing, reviewing] = useDisclosure(false);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    // The lifetime decides what devices reach, so that its effect is shown first.
    if (values.deviceSessionLifetime === settings.deviceSessionLifetime) save.mutate();
    else reviewing.open();
  };
  const secondsOf = (name: keyof typeof limits) => {
    const seconds = values[name];
    return seconds === null ? undefined : seconds / minuteSeconds;
  };
  // Only the lifetime of device sessions can be unlimited.
  const secondsFrom = (name: keyof typeof limits, value: string | number) =>
    value === "" && name === "deviceSessionLifetime" ? null : Math.round(Number(value) * minuteSeconds);
  const minutes = (name: keyof typeof limits) => (
    <NumberInput
      label={t(`settings.fields.${name}`)}
      description={t(`settings.fields.${name}Help`)}
      suffix={` ${t("settings.minutes")}`}
      min={limits[name].min}
      max={limits[name].max}
      allowDecimal={false}
      clampBehavior="strict"
      disabled={!canWrite}
      maw={360}
      value={secondsOf(name) ?? ""}
      onChange={(value) => setValues({ ...values, [name]: secondsFrom(name, value) })}
    />
  );
  return (
    <form onSubmit={submit}>
      <Stack>
        <Panel title={t("settings.signIn")}>
          <Stack>
            {minutes("sessionLifetime")}
            {minutes("sessionIdleTime")}
            <Switch
              label={t("settings.fields.singleSignOnOnly")}
              description={t("settings.fields.singleSignOnOnlyHelp")}
              disabled={!canWrite}
              checked={values.singleSignOnOnly}
              onChange={({ currentTarget }) => setValues({ ...values, singleSignOnOnly: currentTarget.checked })}
            />
          </Stack>
        </Panel>
        <Panel title={t("settings.agents")}>
          <Stack>
            {minutes("configurationLifetime")}
            {minutes("deviceSessionLifetime")}
            <Switch
              label={t("settings.fields.deviceApproval")}
              description={t("settings.fields.deviceApprovalHelp")}
              disabled={!canWrite}
              checked={values.deviceApproval === "administrator"}
              onChange={({ currentTarget }) =>
                setValues({ ...values, deviceApproval: currentTarget.checked ? "administrator" : "automatic" })
              }
            />
          </Stack>
        </Panel>
        {canWrite && (
          <Group>
            <Button type="submit" loading={save.isPending}>
              {t("common.save")}
            </Button>
          </Group>
        )}
        {isReviewing && (
          <ReviewDialog
            title={t("settings.review.title")}
            note={t("settings.review.note")}
            label={t("common.save")}
            changes={[{ method: "PUT", path, body: values }]}
            etag={etag}
            doneMessage={t("settings.saved")}
            close={reviewing.close}
          />
        )}
      </Stack>
    </form>
  );
}

const reasonFields: readonly Field[] = [
  {
    kind: "long-text",
    name: "reason",
    label: t("settings.signingKey.reason"),
    description: t("settings.signingKey.reasonHelp"),
    maxLength: 500,
  },
];

function SigningKey() {
  const canRotate = usePermission("gateways:write");
  const [rotating, { open, close }] = useDisclosure(false);
  const [fingerprint, setFingerprint] = useState<string>();
  return (
    <Panel
      title={t("settings.signingKey.title")}
      actions={
        canRotate && (
          <Button size="xs" variant="default" onClick={open}>
            {t("settings.signingKey.rotate")}
          </Button>
        )
      }
    >
      <Text size="sm">{t("settings.signingKey.text")}</Text>
      {fingerprint !== undefined && (
        <Text size="sm" mt="xs" role="status">
          {t("settings.signingKey.rotated")} <Code className="value">{fingerprint}</Code>
        </Text>
      )}
      {rotating && (
        <RecordForm
          title={t("settings.signingKey.rotate")}
          fields={reasonFields}
          initial={{ reason: "" }}
          submitLabel={t("settings.signingKey.rotate")}
          submit={async ({ reason }) => {
            const body = reason === "" ? {} : { reason: String(reason) };
            setFingerprint((await api.post("/tenants/signing-key/rotate", { body })).publicKey);
          }}
          close={close}
        />
      )}
    </Panel>
  );
}
