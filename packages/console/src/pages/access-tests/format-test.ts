import type { ItemAt, ResultOf } from "@gatehouse/client/calls";

export type AccessTest = ItemAt<"/tenants/access-tests">;
export type AccessTestState = ResultOf<"/tenants/access-tests/check", "post">["tests"][number]["state"];

/** The whole test as a sentence: "Sales never reach Payroll". */
export function formatTest({ subject, device, resource, expected, context = {} }: AccessTest): string {
  const properties = resource.properties ?? {};
  const service = [properties.protocol, properties.port].filter((part) => part !== undefined).join(" ");
  const circumstances = [
    context.sourceIp !== undefined && `from ${context.sourceIp}`,
    context.country !== undefined && `from ${context.country}`,
    context.time !== undefined && `at ${context.time}`,
  ].filter((text) => text !== false);
  const words = [
    `${formatSubject(subject)}${formatDevice(device)}`,
    expected === "denied" ? "must never reach" : "must always reach",
    `${resource.name ?? resource.id}${service === "" ? "" : ` on ${service}`}`,
    ...circumstances,
  ];
  return words.join(" ");
}

export function formatSubject({ type, name }: AccessTest["subject"]): string {
  if (type === "everyone") return "Everyone";
  return `${type.charAt(0).toUpperCase()}${type.slice(1)} ${name ?? "that was deleted"}`;
}

export function formatDevice(device: AccessTest["device"]): string {
  if (device === "any") return "";
  if (device === "none") return " without a device";
  const facts = Object.entries(device.posture).map(([fact, value]) => `${fact} = ${String(value)}`);
  return facts.length === 0 ? " on a device of unknown posture" : ` on a device with ${facts.join(", ")}`;
}

export const levels = { never: "never", sometimes: "under some circumstances", always: "always" } as const;
