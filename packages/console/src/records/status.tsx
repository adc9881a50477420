/** A status as a word in a badge. The word carries the meaning without the colour. */
import { Ban, Check } from "lucide-react";
import type { ReactNode } from "react";
import { t } from "../messages/i18n.ts";

/** Each tone has one meaning: it works, it is broken, it waits for something, or nothing is expected of it. */
export const tones = ["good", "bad", "waiting", "idle"] as const;
export type Tone = (typeof tones)[number];

export function Status({ tone, children }: { readonly tone: Tone; readonly children: ReactNode }) {
  return (
    <span className="status" data-tone={tone}>
      <span className="dot" aria-hidden />
      <span>{children}</span>
    </span>
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

/** The tone of the status of a record. Undefined for a value that this console does not know. */
export function toneOfStatus(value: string): Tone | undefined {
  return statuses[value.toLowerCase()]?.tone;
}

/** The status of a record in words. */
export function formatStatus(value: string): string {
  return statuses[value.toLowerCase()]?.label ?? value;
}

interface StatusOfProps {
  readonly value: string;
  /** Words to show instead of those of the status. */
  readonly words?: string;
}

/** The status of a record. A newer server may send values that this console does not know. */
export function StatusOf({ value, words }: StatusOfProps) {
  // A device that is offline needs no attention; a gateway does. The API spells the two differently.
  if (value === "Offline") return <Status tone="idle">{t("records.status.offline")}</Status>;
  const { tone, label } = statuses[value.toLowerCase()] ?? { tone: "idle", label: value };
  return <Status tone={tone}>{words ?? label}</Status>;
}

interface PolicyActionProps {
  readonly allows: boolean;
  /** Conditions under which the policy applies. */
  readonly conditions?: readonly string[];
  /** True in the explanation of a decision that the policy did not make: a strong tick would look like success. */
  readonly isMuted?: boolean;
}

/** The least width of a column of actions. Their conditions would otherwise be columns of single words. */
export const actionWidth = 156;

/** The action of a policy. It has no colour, because a policy that denies is not broken. */
export function PolicyAction({ allows, conditions = [], isMuted = false }: PolicyActionProps) {
  const Icon = allows ? Check : Ban;
  return (
    <span className="policy-action" data-muted={isMuted || undefined}>
      <Icon size={14} aria-hidden />
      <span>{[allows ? t("policies.actions.allow") : t("policies.actions.deny"), ...conditions].join(", ")}</span>
    </span>
  );
}
