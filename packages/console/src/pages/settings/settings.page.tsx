/** The settings of the tenant as a whole, and the key that signs configurations. */
import type { ResultOf } from "@gatehouse/client/calls";
import { Button, Code, Skeleton, Stack, Text, Title } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useEffect, useState } from "react";
import { api } from "../../app/api.ts";
import { ProblemNotice } from "../../app/problem-notice.tsx";
import { usePermission, useSession } from "../../app/session.ts";
import { t } from "../../messages/i18n.ts";
import { RichText } from "../../messages/rich-text.tsx";
import { useAwaitingCount } from "../../records/awaiting-devices.ts";
import type { DurationLimits } from "../../records/duration-field.tsx";
import { type Field, formatValue, type Values } from "../../records/form-fields.tsx";
import type { PlannedChange } from "../../records/planned-change.ts";
import { RecordForm } from "../../records/record-form.tsx";
import { RecordLink } from "../../records/record-link.tsx";
import { Facts, Panel, PanelNote } from "../../records/record-page.tsx";

const path = "/tenants/settings";
const minute = 60;
const day = 86_400;
/** The limits that the API documents. */
const limits = {
  configurationLifetime: { min: 10 * minute, max: 7 * day },
  sessionLifetime: { min: 5 * minute, max: 30 * day },
  sessionIdleTime: { min: 5 * minute, max: 30 * day },
  deviceSessionLifetime: { min: 15 * minute, max: 365 * day, optional: true },
} as const satisfies Readonly<Record<string, DurationLimits>>;

type Settings = ResultOf<typeof path, "get">;

/** The settings that one form edits. A write leaves the others as they are. */
interface Part {
  readonly title: string;
  readonly editLabel: string;
  readonly editTitle: string;
  readonly fields: readonly Field[];
  /** Whether the settings affect access, so that the effect of a change is shown first. */
  readonly changesAccess: boolean;
}

function lifetime(name: keyof typeof limits): Field {
  const label = t(`settings.fields.${name}`);
  const description = t(`settings.fields.${name}Help`);
  return { kind: "duration", name, label, description, limits: limits[name] };
}

const parts: readonly Part[] = [
  {
    title: t("settings.signIn"),
    editLabel: t("settings.editSignIn"),
    editTitle: t("settings.editSignInTitle"),
    changesAccess: false,
    fields: [
      lifetime("sessionLifetime"),
      lifetime("sessionIdleTime"),
      {
        kind: "switch",
        name: "singleSignOnOnly",
        label: t("settings.fields.singleSignOnOnly"),
        description: t("settings.fields.singleSignOnOnlyHelp"),
      },
    ],
  },
  {
    title: t("settings.agents"),
    editLabel: t("settings.editAgents"),
    editTitle: t("settings.editAgentsTitle"),
    changesAccess: true,
    fields: [
      lifetime("configurationLifetime"),
      lifetime("deviceSessionLifetime"),
      {
        kind: "switch",
        name: "deviceApproval",
        label: t("settings.fields.deviceApproval"),
        description: t("settings.fields.deviceApprovalHelp"),
      },
    ],
  },
];

function valuesOf({ deviceApproval, ...settings }: Settings): Values {
  return { ...settings, deviceApproval: deviceApproval === "administrator" };
}

/** The request that writes the changed settings of a form; none if another person made the same changes meanwhile. */
function changesOf(values: Values, before: Values): readonly PlannedChange[] {
  const changed = Object.entries(values).filter(([name, value]) => value !== before[name]);
  if (changed.length === 0) return [];
  const body = Object.fromEntries(
    changed.map(([name, value]) => [
      name,
      name === "deviceApproval" ? (value === true ? "administrator" : "automatic") : value,
    ]),
  );
  return [{ method: "PUT", path, body }];
}

export function SettingsPage() {
  const { tenant } = useSession();
  useEffect(() => {
    document.title = t("common.documentTitle", { title: t("settings.title") });
  }, []);
  const { data, error, refetch } = useQuery({ queryKey: [path], queryFn: () => api.read(path) });
  return (
    <Stack>
      <Title order={1}>{t("settings.title")}</Title>
      <div className="record-panels">
        <Panel title={t("settings.tenant")}>
          <Facts
            facts={[
              { label: t("common.name"), value: tenant.name },
              { label: t("settings.shortName"), value: <Code>{tenant.slug}</Code> },
              { label: t("settings.id"), value: <Code>{tenant.id}</Code> },
            ]}
          />
          <PanelNote>{t("settings.fixedNames")}</PanelNote>
        </Panel>
        {error !== null ? (
          <ProblemNotice error={error} retry={refetch} />
        ) : data === undefined ? (
          <Skeleton height={120} aria-busy />
        ) : (
          parts.map((part) => (
            <SettingsPanel key={part.title} part={part} values={valuesOf(data.record)} etag={data.etag} />
          ))
        )}
        <SigningKey />
      </div>
    </Stack>
  );
}

/** @param awaiting the number of devices that await approval */
function noteOf(name: string, values: Values, awaiting: number): ReactNode {
  if (name === "configurationLifetime") return t("settings.agentsNote");
  if (name === "deviceSessionLifetime") return t("settings.groupsDiffer");
  // A change of the setting leaves devices that wait as they are.
  if (name !== "deviceApproval" || values.deviceApproval === true || awaiting === 0) return undefined;
  return (
    <RichText
      message="settings.stillAwaiting"
      values={{ count: awaiting }}
      elements={{ link: <RecordLink to="/device-approvals" inText /> }}
    />
  );
}

interface SettingsPanelProps {
  readonly part: Part;
  readonly values: Values;
  readonly etag: string;
}

function SettingsPanel({ part, values, etag }: SettingsPanelProps) {
  const canWrite = usePermission("settings:write");
  const [editing, { open, close }] = useDisclosure(false);
  const { data: awaiting = 0 } = useAwaitingCount();
  return (
    <Panel
      title={part.title}
      actions={
        canWrite && (
          <Button size="xs" variant="default" aria-label={part.editLabel} onClick={open}>
            {t("common.edit")}
          </Button>
        )
      }
    >
      <Facts
        facts={part.fields.map((field) => ({
          label: field.label,
          ...(field.kind === "duration" && values[field.name] === null
            ? { value: undefined, none: t("settings.unlimited") }
            : { value: formatValue(field, values[field.name]) }),
          note: noteOf(field.name, values, awaiting),
        }))}
      />
      {editing && (
        <RecordForm
          title={part.editTitle}
          fields={part.fields}
          initial={values}
          submitLabel={t("common.save")}
          changesAccess={part.changesAccess}
          plan={changesOf}
          close={close}
          edits={{
            etag,
            reload: async () => {
              const stored = await api.read(path);
              return { values: valuesOf(stored.record), etag: stored.etag };
            },
          }}
        />
      )}
    </Panel>
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
      about={t("settings.signingKey.text")}
      actions={
        canRotate && (
          <Button size="xs" variant="default" onClick={open}>
            {t("settings.signingKey.rotate")}
          </Button>
        )
      }
    >
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
