import {
  configurationLifetime,
  deviceApprovalModes,
  deviceSessionSeconds,
  type NewTenantSettings,
  sessionSeconds,
  type TenantSettings,
} from "@gatehouse/contract/records/tenant-settings";
import { type Command, InvalidArgumentError, Option } from "commander";
import { CommandFailure, exitCodes } from "../failure.ts";
import { writeJson, writeLines } from "../output.ts";
import { isTenantSettings } from "../response-checks.ts";
import { type ApiOptions, addApiOptions, apiClient } from "./api-options.ts";

interface SetOptions extends ApiOptions, Omit<NewTenantSettings, "singleSignOnOnly" | "deviceSessionLifetime"> {
  readonly deviceSessionLifetime?: number | "never";
  readonly singleSignOnOnly?: "yes" | "no";
}

export function addSettingsCommands(program: Command): void {
  const settings = program
    .command("settings")
    .summary("show and change the settings of a tenant")
    .description("Show and change settings that apply to the tenant as a whole.");
  const get = settings
    .command("get")
    .summary("show the settings")
    .description("Shows the settings of the tenant.")
    .action(getSettings);
  const set = settings
    .command("set")
    .summary("change settings")
    .description("Changes the given settings. Others stay unchanged.")
    .option(
      "--configuration-lifetime <time>",
      "How long gateways and devices may enforce a configuration without the control plane: 10m to 7d.",
      duration(configurationLifetime, "10m to 7d, such as 12h"),
    )
    .option(
      "--session-lifetime <time>",
      "Maximum duration of a session: 5m to 30d.",
      duration(sessionSeconds, "5m to 30d, such as 12h"),
    )
    .option(
      "--session-idle-time <time>",
      "How long a session can be without a request: 5m to 30d.",
      duration(sessionSeconds, "5m to 30d, such as 1h"),
    )
    .addOption(
      new Option(
        "--single-sign-on-only <choice>",
        "Whether people sign in only through identity providers. Recovery codes remain.",
      ).choices(["yes", "no"]),
    )
    .addOption(
      new Option(
        "--device-approval <who>",
        "Who approves devices that people enrol by signing in: nobody (automatic), or an administrator.",
      ).choices(deviceApprovalModes),
    )
    .option(
      "--device-session-lifetime <time>",
      "How long a device is trusted after its user signed in on it: 15m to 365d, or never to end no session.",
      (text: string) => (text === "never" ? text : duration(deviceSessionSeconds, "15m to 365d, or never")(text)),
    )
    .action(setSettings)
    .addHelpText("after", "\nExample:\n  gatehouse settings set --configuration-lifetime 12h");
  for (const command of [get, set]) addApiOptions(command, "apiKey");
}

async function getSettings(options: ApiOptions): Promise<void> {
  const client = apiClient(options, "apiKey");
  const settings = await client.call((gatehouse) => gatehouse.get("/tenants/settings"), isTenantSettings);
  await (options.json === true ? writeJson(settings) : writeLines(settingsLines(settings)));
}

async function setSettings(options: SetOptions): Promise<void> {
  const {
    configurationLifetime: lifetime,
    sessionLifetime,
    sessionIdleTime,
    singleSignOnOnly,
    deviceApproval,
    deviceSessionLifetime: device,
  } = options;
  const body: NewTenantSettings = {
    ...(lifetime === undefined ? {} : { configurationLifetime: lifetime }),
    ...(sessionLifetime === undefined ? {} : { sessionLifetime }),
    ...(sessionIdleTime === undefined ? {} : { sessionIdleTime }),
    ...(singleSignOnOnly === undefined ? {} : { singleSignOnOnly: singleSignOnOnly === "yes" }),
    ...(deviceApproval === undefined ? {} : { deviceApproval }),
    ...(device === undefined ? {} : { deviceSessionLifetime: device === "never" ? null : device }),
  };
  if (Object.keys(body).length === 0) {
    const message = "No setting is given. gatehouse settings set --help lists the settings.";
    throw new CommandFailure(message, { exitCode: exitCodes.usage });
  }
  const client = apiClient(options, "apiKey");
  const settings = await client.call((gatehouse) => gatehouse.put("/tenants/settings", { body }), isTenantSettings);
  await (options.json === true ? writeJson(settings) : writeLines(settingsLines(settings)));
}

function settingsLines(settings: TenantSettings): readonly string[] {
  return [
    `Configuration lifetime  ${formatSeconds(settings.configurationLifetime)}`,
    `Session lifetime        ${formatSeconds(settings.sessionLifetime)}`,
    `Session idle time       ${formatSeconds(settings.sessionIdleTime)}`,
    `Single sign-on only     ${settings.singleSignOnOnly ? "yes" : "no"}`,
    `Device approval         ${settings.deviceApproval}`,
    `Device session lifetime ${deviceSessionText(settings.deviceSessionLifetime)}`,
  ];
}

function deviceSessionText(seconds: number | null): string {
  return seconds === null ? "unlimited" : formatSeconds(seconds);
}

const unitSeconds = { d: 86_400, h: 3_600, m: 60, s: 1 } as const;

/**
 * A parser of a number with the unit s, m, h or d, which throws an InvalidArgumentError. Commander adds the value to
 * it.
 *
 * @param range the permitted seconds
 * @param expected the range as the user writes it, with an example
 */
function duration(range: { readonly minimum: number; readonly maximum: number }, expected: string) {
  return (text: string): number => {
    const [, digits, unit] = /^(\d{1,9})([smhd])$/.exec(text) ?? [];
    const seconds = Number(digits) * unitSeconds[(unit ?? "s") as keyof typeof unitSeconds]; // one of the four letters
    if (seconds >= range.minimum && seconds <= range.maximum) return seconds;
    throw new InvalidArgumentError(`Use a time from ${expected}.`);
  };
}

/** Formats seconds in the largest unit that needs no fraction. */
function formatSeconds(seconds: number): string {
  const [unit, size] = Object.entries(unitSeconds).find(([, each]) => seconds % each === 0) ?? ["s", 1];
  return `${seconds / size}${unit}`;
}
