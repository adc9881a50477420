import type { ItemAt, ResultOf } from "@gatehouse/client/calls";
import { formatZonedTime } from "../../messages/format.ts";
import { t } from "../../messages/i18n.ts";
import { formatFactInText, formatFactValue } from "../../records/format-fact.ts";

export type AccessTest = ItemAt<"/tenants/access-tests">;
export type AccessTestState = ResultOf<"/tenants/access-tests/check", "post">["tests"][number]["state"];

/** The test as a sentence: "Group “Sales” must never reach “Payroll”". */
export function formatTest({ subject, device, resource, expected, context = {} }: AccessTest): string {
  const { protocol, port } = resource.properties ?? {};
  const service = [protocol, port].filter((part) => part !== undefined).join(" ");
  const name = resource.name === undefined ? resource.id : t("common.quoted", { text: resource.name });
  const isDeniedToAll = subject.type === "everyone" && expected === "denied";
  const who = isDeniedToAll ? t("accessTests.sentence.nobody") : formatSubject(subject);
  const sentence = t(`accessTests.sentence.${isDeniedToAll ? "deniedToAll" : expected}`, {
    subject: formatSubjectOnDevice(who, device),
    resource: service === "" ? name : t("accessTests.sentence.service", { resource: name, service }),
  });
  return [
    sentence,
    ...(context.sourceIp === undefined ? [] : [t("accessTests.sentence.from", { source: context.sourceIp })]),
    ...(context.country === undefined ? [] : [t("accessTests.sentence.from", { source: context.country })]),
    ...(context.time === undefined ? [] : [t("accessTests.sentence.at", { time: formatZonedTime(context.time) })]),
  ].join(" ");
}

export function formatSubject({ type, name = t("accessTests.deleted") }: AccessTest["subject"]): string {
  return type === "everyone" ? t("accessTests.subjects.everyone") : t(`accessTests.subjects.${type}Named`, { name });
}

function formatSubjectOnDevice(subject: string, device: AccessTest["device"]): string {
  if (device === "any") return subject;
  if (device === "none") return t("accessTests.sentence.withoutDevice", { subject });
  const posture = formatPosture(device.posture);
  return posture === ""
    ? t("accessTests.sentence.onAnyDevice", { subject })
    : t("accessTests.sentence.onDevice", { subject, posture });
}

/** The devices that the test covers, to compare two versions of a test. */
export function formatDevice(device: AccessTest["device"]): string {
  if (device === "any") return t("accessTests.fields.deviceAny");
  if (device === "none") return t("accessTests.fields.deviceNone");
  return `${t("accessTests.fields.devicePosture")}: ${formatPosture(device.posture) || t("accessTests.fields.any")}`;
}

type Posture = Extract<AccessTest["device"], object>["posture"];

function formatPosture(posture: Posture): string {
  return Object.entries(posture)
    .map(([fact, value]) => {
      const text = typeof value === "boolean" ? formatFactValue(value).toLowerCase() : String(value);
      return `${formatFactInText(fact)} = ${text}`;
    })
    .join(", ");
}
