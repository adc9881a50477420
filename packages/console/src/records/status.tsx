/** A status as a word with a coloured dot. The word carries the meaning without the colour. */
import { Group } from "@mantine/core";
import { t } from "../messages/i18n.ts";

const colors = {
  good: "var(--mantine-color-green-7)",
  bad: "var(--mantine-color-red-7)",
  waiting: "var(--mantine-color-yellow-7)",
  idle: "var(--mantine-color-gray-6)",
} as const;

export type Tone = keyof typeof colors;

export function Status({ tone, children }: { readonly tone: Tone; readonly children: string }) {
  return (
    <Group gap={8} wrap="nowrap" component="span" className="status" display="inline-flex">
      <span className="dot" style={{ background: colors[tone] }} aria-hidden />
      <span>{children}</span>
    </Group>
  );
}

const statuses: Readonly<Record<string, { readonly tone: Tone; readonly label: string }>> = {
  active: { tone: "good", label: t("records.status.active") },
  inactive: { tone: "idle", label: t("records.status.inactive") },
  pending: { tone: "waiting", label: t("records.status.pending") },
  online: { tone: "good", label: t("records.status.online") },
  offline: { tone: "bad", label: t("records.status.offline") },
  error: { tone: "bad", label: t("records.status.error") },
  maintenance: { tone: "waiting", label: t("records.status.maintenance") },
  deactivated: { tone: "idle", label: t("records.status.deactivated") },
};

/** The status of a record. A newer server may send values that this console does not know. */
export function StatusOf({ value }: { readonly value: string }) {
  // A device that is offline needs no attention; a gateway does. The API spells the two differently.
  if (value === "Offline") return <Status tone="idle">{t("records.status.offline")}</Status>;
  const { tone, label } = statuses[value.toLowerCase()] ?? { tone: "idle", label: value };
  return <Status tone={tone}>{label}</Status>;
}
