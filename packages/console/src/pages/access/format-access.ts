/** Decisions in words. */
import type { ResultOf } from "@gatehouse/client/calls";
import { formatWeekTime } from "../../messages/format.ts";
import { findMessage, t } from "../../messages/i18n.ts";
import { formatCondition } from "../admission-rules/format-condition.ts";

export type Decision = ResultOf<"/access/v1/evaluation", "post">;
type Explanation = NonNullable<Decision["context"]["explanation"]>;
export type Considered = Explanation["policies"][number];
export type NearestMiss = NonNullable<Explanation["nearestMiss"]>;
export type Missing = NearestMiss["missing"][number];
export type Condition = NonNullable<Considered["rule"]>["conditions"][number];

/** A newer server may send reasons that this console does not know. They are shown as codes. */
export function formatReason(reason: string): string {
  const key = `access.reasons.${reason}`;
  return findMessage(key) ?? reason;
}

/** @param refusal the reason why no policy was evaluated, such as a deactivated user; undefined if one was */
export function formatOutcome(outcome: Considered["outcome"], refusal: string | undefined): string {
  if (outcome === "not_asked" && refusal !== undefined) {
    return t("access.outcomes.notAsked", { reason: formatReason(refusal) });
  }
  return t(`access.outcomes.${outcome}`);
}

/** The parts of a policy through which it matches the subject. */
export function formatMatches(matches: Considered["sourceMatches"]): string {
  return matches.map(formatMatch).join(", ");
}

function formatMatch({ kind, name = t("access.matches.unknown") }: Considered["sourceMatches"][number]): string {
  switch (kind) {
    case "anyone":
      return t("access.matches.anyone");
    case "all-users":
      return t("access.matches.allUsers");
    case "all-groups":
      return t("access.matches.allGroups");
    case "all-devices":
      return t("access.matches.allDevices");
    default:
      return t(`access.matches.${kind}`, { name });
  }
}

/** One requirement that is not met, such as "Add the user to the group “Finance”". A condition ends the text. */
export function formatMissing(missing: Missing): string {
  const { kind, reason, policy, condition, negated, sourceIps = [] } = missing;
  switch (kind) {
    case "subject":
      return findMessage(`access.missing.subject.${reason}`) ?? formatReason(reason ?? "");
    case "destination":
      return reason === undefined ? t("access.missing.destination") : formatReason(reason);
    case "denied-by":
      return t("access.missing.deniedBy", { name: policy?.name ?? "" });
    case "source":
      return formatSource(missing);
    case "source-address":
      return t("access.missing.sourceAddress", { addresses: formatChoice(sourceIps) });
    case "condition":
      return condition === undefined
        ? t("access.missing.unknownCondition")
        : formatMissingCondition(condition, negated === true);
  }
}

function formatMissingCondition(condition: Condition, negated: boolean): string {
  const words = formatCondition(condition.text) ?? condition.text;
  return negated
    ? t("access.missing.conditionNot", { condition: words })
    : t("access.missing.condition", { condition: words });
}

function formatSource({ anyGroup, anyDevice, groups = [], users = [], devices = [] }: Missing): string {
  let text = anyGroup === true ? t("access.missing.source.anyGroup") : "";
  const add = (kind: "groups" | "users" | "devices", records: readonly { readonly name: string }[]) => {
    if (records.length === 0) return;
    const names = formatChoice(records.map(({ name }) => t("common.quoted", { text: name })));
    text =
      text === ""
        ? t(`access.missing.source.${kind}`, { names })
        : t(`access.missing.sourceOr.${kind}`, { first: text, names });
  };
  add("groups", groups);
  add("users", users);
  if (anyDevice === true) {
    text = text === "" ? t("access.missing.source.anyDevice") : t("access.missing.sourceOr.anyDevice", { first: text });
  }
  add("devices", devices);
  return text === "" ? t("access.missing.noSubjects") : text;
}

/** One of several names. */
function formatChoice(names: readonly string[]): string {
  const shown = names.slice(0, 5).reduce((first, second) => t("access.missing.nameOr", { first, second }));
  return names.length > 5 ? t("access.missing.list", { names: shown, count: names.length - 5 }) : shown;
}

/** The values that the condition read, such as `false` for `device.posture.diskEncrypted`. */
export function observedOf({ text, values }: Condition): readonly { readonly name: string; readonly value: string }[] {
  return values.map(({ name, value }) => ({
    name,
    value: formatObservedTime(text, name, value) ?? formatValue(value),
  }));
}

function formatValue(value: string | undefined): string {
  const text = /^"(.*)"$/.exec(value ?? "")?.[1];
  return text === undefined ? (value ?? t("access.evaluated.valueUnknown")) : t("common.quoted", { text });
}

/** The time in the time zone of the condition, such as "Monday 07:00"; undefined for other values. */
function formatObservedTime(text: string, name: string, value: string | undefined): string | undefined {
  const at = new Date(/^"(.*)"$/.exec(value ?? "")?.[1] ?? "");
  const zone = /^now\.get\w+\("([^"\\]+)"\)/.exec(text.trim())?.[1];
  return name !== "now" || zone === undefined || Number.isNaN(at.getTime()) ? undefined : formatWeekTime(at, zone);
}
