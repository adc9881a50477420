import { ConfigError, readConfig, type SettingName, settingNames } from "@gatehouse/server/config";
import type { Finding } from "@gatehouse/server/doctor/finding";
import { type Command, Option } from "commander";
import { CommandExit, exitCodes } from "../failure.ts";
import { writeJson, writeLines } from "../output.ts";
import { checkAgents } from "./agent-versions.ts";
import { addSettingOptions, givenFlags } from "./setting-options.ts";

interface DoctorOptions {
  readonly json?: true;
  readonly url: string;
  readonly apiKey?: string;
}

const shownSettings: readonly SettingName[] = settingNames.filter((name) => name !== "demo");

export function addDoctorCommand(program: Command): void {
  const command = program
    .command("doctor")
    .summary("check the installation")
    .description(
      "Checks the settings and what they refer to: data folder, master key, disk, clock, database, TLS, public address, port, and with an API key also the versions of gateway agents. Changes nothing. Names the fix of each finding. Exits with 1 if there is a problem; warnings do not change the exit code.",
    )
    .addOption(
      new Option("--url <url>", "Base URL of the server that lists gateways.")
        .env("GATEHOUSE_URL")
        .default("http://127.0.0.1:8080"),
    )
    .addOption(new Option("--api-key <key>", "API key with gateways:read.").env("GATEHOUSE_API_KEY"))
    .option("--json", "Print JSON.")
    .action(async ({ json, url, apiKey, ...flags }: DoctorOptions) => {
      const findings = [...(await checkInstallation(givenFlags(flags))), await checkAgents({ url, apiKey })];
      await (json === true ? writeJson({ findings }) : writeLines(findings.flatMap(findingLines)));
      if (findings.some(({ status }) => status === "problem")) throw new CommandExit(exitCodes.failed);
    });
  addSettingOptions(command, shownSettings);
}

async function checkInstallation(flags: Readonly<Record<string, string>>): Promise<readonly Finding[]> {
  try {
    const config = readConfig({ flags, environment: process.env });
    const { examine } = await import("@gatehouse/server/doctor/doctor");
    return [
      { check: "settings", status: "ok", message: "All settings are valid." },
      ...(await examine(config, new Date())),
    ];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const remedy = "Correct the setting; gatehouse serve --help describes it. The other checks need valid settings.";
    return error.problems.map((message) => ({ check: "settings", status: "problem", message, remedy }));
  }
}

const marks = { ok: "ok      ", warning: "warning ", problem: "PROBLEM ", skipped: "skipped " } as const;

function findingLines({ check, status, message, remedy }: Finding): readonly string[] {
  const line = `${marks[status]}  ${check.padEnd(15)}  ${message}`;
  return remedy === undefined ? [line] : [line, `${" ".repeat(27)}${remedy}`];
}
