import { writeFile } from "node:fs/promises";
import {
  type Configuration,
  type ConfigurationPlan,
  Configuration as Form,
} from "@gatehouse/contract/records/configuration";
import type { Command } from "commander";
import type { ApiClient } from "../api-client.ts";
import {
  type ConfigurationFile,
  configurationText,
  readConfigurationFile,
  standardInput,
} from "../configuration-file.ts";
import { CommandExit, CommandFailure, exitCodes } from "../failure.ts";
import { withPositions } from "../file-positions.ts";
import { writeError, writeJson, writeLines, writeText } from "../output.ts";
import { planLines, summaryText } from "../plan-lines.ts";
import { isConfiguration, isConfigurationPlan } from "../response-checks.ts";
import { type ApiOptions, addApiOptions, apiClient, urlOf } from "./api-options.ts";
import { prompt } from "./prompt.ts";
import { enforcementLines, enforcementOf, waitOption, waitQuery } from "./wait.ts";

const path = "/tenants/configuration";

/** The time limit in milliseconds: thousands of records take time, and gateways up to a minute. */
const timeoutMs = 180_000;

interface PlanOptions extends ApiOptions {
  readonly detailedExitCode?: true;
}

interface ApplyOptions extends ApiOptions {
  readonly yes?: true;
  readonly overrideReason?: string;
  readonly wait?: number | true;
}

export function addConfigurationCommands(program: Command): void {
  const exporting = program
    .command("export")
    .summary("write the tenant's configuration as YAML")
    .description("Writes the tenant's configuration as YAML, with names instead of ids and without secrets.")
    .option("--output <file>", "Output file (default: standard output).")
    .action(exportConfiguration);
  const planning = program
    .command("plan")
    .summary("show what applying a file would change")
    .description("Shows what applying a file would change. Changes nothing.")
    .argument("<file>", "a configuration in YAML; - for standard input")
    .option("--detailed-exit-code", "Exit with 3 if there are changes.")
    .action(planConfiguration);
  const applying = program
    .command("apply")
    .summary("apply a configuration file to the tenant")
    .description(
      "Changes the tenant to match a configuration file, in one transaction. Shows the plan and asks for confirmation first.",
    )
    .argument("<file>", "a configuration in YAML; - for standard input, with --yes")
    .option("--yes", "Apply without confirmation.")
    .option(
      "--override-reason <text>",
      "Reason for overriding enforced access tests. It is stored in the audit record.",
    )
    .addOption(waitOption())
    .action(applyConfiguration)
    .addHelpText(
      "after",
      `
A section of the file lists all records of its kind: records that it does not list are deleted. Records of an
omitted section stay unchanged. If the tenant changes after the plan was shown, nothing is applied.

With --wait, the command waits until every gateway has confirmed that it enforces the tenant's current state, even
if nothing had to be changed. Otherwise it lists the remaining gateways and exits with 4; the changes stay applied.

Examples:
  gatehouse export --output gatehouse.yaml
  gatehouse plan gatehouse.yaml
  gatehouse apply gatehouse.yaml
  gatehouse apply gatehouse.yaml --yes --wait=30`,
    );
  for (const command of [exporting, planning, applying]) addApiOptions(command, "apiKey");
}

async function exportConfiguration(options: ApiOptions & { output?: string }): Promise<void> {
  const client = apiClient(options, "apiKey");
  const configuration = await client.call((gatehouse) => gatehouse.get(path, { timeoutMs }), isConfiguration);
  reportOmittedSections(configuration);
  const text =
    options.json === true
      ? `${JSON.stringify(configuration, undefined, 2)}\n`
      : configurationText(configuration, urlOf(options));
  if (options.output === undefined) return writeText(text);
  try {
    await writeFile(options.output, text);
  } catch (error) {
    throw new CommandFailure(
      `Cannot write ${options.output}: ${error instanceof Error ? error.message : String(error)}.`,
    );
  }
}

/** Reports omitted sections. Otherwise a section that the key cannot read would look as if it had no records. */
function reportOmittedSections(configuration: Configuration): void {
  const missing = Object.keys(Form.properties).filter((section) => !(section in configuration));
  if (missing.length > 0) writeError(`Omitted sections that the key cannot read: ${missing.join(", ")}.\n`);
}

async function planConfiguration(name: string, options: PlanOptions): Promise<void> {
  const client = apiClient(options, "apiKey");
  const plan = await planOf(client, await readConfigurationFile(name));
  if (options.json === true) await writeJson(plan);
  else await writeLines([...planLines(plan), planSummary(plan)]);
  if (options.detailedExitCode === true && plan.changes.length > 0) throw new CommandExit(exitCodes.changes);
}

async function applyConfiguration(name: string, options: ApplyOptions): Promise<void> {
  const client = apiClient(options, "apiKey");
  const canConfirm = process.stdin.isTTY === true && name !== standardInput && options.json !== true;
  if (options.yes !== true && !canConfirm) {
    throw new CommandFailure(
      "Confirmation requires a terminal and a file other than standard input. Use --yes to apply without confirmation.",
      { exitCode: exitCodes.usage },
    );
  }
  const file = await readConfigurationFile(name);
  const plan = await planOf(client, file);
  if (options.json !== true) await writeLines([...planLines(plan), planSummary(plan)]);
  const { overrideReason, wait } = options;
  if (plan.changes.length === 0 && wait === undefined) {
    if (options.json === true) await writeJson(plan);
    return;
  }
  if (
    plan.changes.length > 0 &&
    options.yes !== true &&
    (await prompt("Apply these changes? Enter yes to confirm: ")) !== "yes"
  ) {
    throw new CommandFailure("Cancelled. Nothing was changed.");
  }
  const body = asConfiguration(file);
  const ifMatch = `"${plan.generation}"`;
  const override = overrideReason === undefined ? {} : { overrideReason };
  const query = wait === undefined ? {} : { query: waitQuery(wait) };
  const done = await withPositionsOfPlan(file, () =>
    client.call(
      (gatehouse) => gatehouse.post(`${path}/apply`, { body, ifMatch, timeoutMs, ...query, ...override }),
      isConfigurationPlan,
    ),
  );
  const enforcement = wait === undefined ? undefined : await enforcementOf(client);
  if (options.json === true) await writeJson(enforcement === undefined ? done : { ...done, enforcement });
  else {
    const applied = `Applied: ${summaryText(done, ["created", "changed", "deleted"])}.`;
    const lines = done.changes.length === 0 ? [] : [applied];
    await writeLines([...lines, ...(enforcement === undefined ? [] : enforcementLines(enforcement))]);
  }
  if (enforcement !== undefined && enforcement.state !== "applied") throw new CommandExit(exitCodes.notEnforced);
}

function planOf(client: ApiClient, file: ConfigurationFile): Promise<ConfigurationPlan> {
  const body = asConfiguration(file);
  return withPositions(file, () =>
    client.call((gatehouse) => gatehouse.post(`${path}/plan`, { body, timeoutMs }), isConfigurationPlan),
  );
}

/** The document as a configuration. The server validates it. */
function asConfiguration({ document }: ConfigurationFile): Configuration {
  return document as Configuration;
}

function planSummary(plan: ConfigurationPlan): string {
  if (plan.changes.length === 0) return "No changes. The tenant matches the file.";
  return `Plan: ${summaryText(plan, ["to create", "to change", "to delete"])}.`;
}

/** Like `withPositions`, and explains that a plan is no longer current. */
async function withPositionsOfPlan<T>(file: ConfigurationFile, call: () => Promise<T>): Promise<T> {
  try {
    return await withPositions(file, call);
  } catch (error) {
    if (!(error instanceof CommandFailure) || error.problem?.code !== "precondition_failed") throw error;
    throw new CommandFailure("The tenant has changed since the plan was made. Nothing was applied.", {
      details: ["Run gatehouse plan again and review the new plan."],
      body: error.problem,
    });
  }
}
