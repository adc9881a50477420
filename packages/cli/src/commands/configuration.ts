import { writeFile } from "node:fs/promises";
import {
  type Configuration,
  type ConfigurationPlan,
  Configuration as Form,
} from "@gatehouse/contract/records/configuration";
import type { Command } from "commander";
import { isConfiguration, isConfigurationPlan } from "../answers.ts";
import type { ApiClient } from "../api-client.ts";
import {
  type ConfigurationFile,
  configurationText,
  readConfigurationFile,
  standardInput,
} from "../configuration-file.ts";
import { CommandEnd, CommandFailure, exitCodes } from "../failure.ts";
import { writeError, writeJson, writeLines, writeText } from "../output.ts";
import { planLines, summaryText } from "../plan-lines.ts";
import { type ApiOptions, addApiOptions, apiClient } from "./api-options.ts";
import { ask } from "./ask.ts";
import { enforcementLines, enforcementOf, waitOption, waitQuery } from "./wait.ts";

const path = "/tenants/configuration";

/** Thousands of records take longer than one, and gateways up to a minute, in milliseconds. */
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
    .description("Writes the tenant's configuration as YAML: names, not ids; no secrets.")
    .option("--output <file>", "Where to write it; absent: to standard output.")
    .action(exportConfiguration);
  const planning = program
    .command("plan")
    .summary("show what applying a file would change")
    .description("Shows what applying a file would change. Changes nothing.")
    .argument("<file>", "a configuration in YAML; - for standard input")
    .option("--detailed-exit-code", "Exit with 3 when there are changes.")
    .action(planConfiguration);
  const applying = program
    .command("apply")
    .summary("make the tenant as a file says")
    .description("Makes the tenant as a file says: all or nothing. Shows the plan, and asks first.")
    .argument("<file>", "a configuration in YAML; - for standard input, with --yes")
    .option("--yes", "Do not ask.")
    .option("--override-reason <text>", "Why enforced access tests may be broken; it goes into the audit record.")
    .addOption(waitOption())
    .action(applyConfiguration)
    .addHelpText(
      "after",
      `
A section of the file is the whole truth about its kind: what it does not list is deleted. A section that is
left out is left alone. What was shown is what is applied: if the tenant changes in between, nothing is done.

With --wait the command ends when every gateway has said that it enforces the tenant as it is then, also where
nothing had to be changed. It names those that have not, and exits with 4; what was applied stays applied.

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
  const configuration = await client.ask((gatehouse) => gatehouse.get(path, { timeoutMs }), isConfiguration);
  tellOfMissing(configuration);
  const text =
    options.json === true
      ? `${JSON.stringify(configuration, undefined, 2)}\n`
      : configurationText(configuration, options.url);
  if (options.output === undefined) return writeText(text);
  try {
    await writeFile(options.output, text);
  } catch (error) {
    throw new CommandFailure(
      `${options.output} cannot be written: ${error instanceof Error ? error.message : String(error)}.`,
    );
  }
}

/** A section that the key may not read looks like one that nobody wanted. */
function tellOfMissing(configuration: Configuration): void {
  const missing = Object.keys(Form.properties).filter((section) => !(section in configuration));
  if (missing.length > 0) writeError(`Left out, since the key may not read them: ${missing.join(", ")}.\n`);
}

async function planConfiguration(name: string, options: PlanOptions): Promise<void> {
  const client = apiClient(options, "apiKey");
  const plan = await planOf(client, await readConfigurationFile(name));
  if (options.json === true) await writeJson(plan);
  else await writeLines([...planLines(plan), planSummary(plan)]);
  if (options.detailedExitCode === true && plan.changes.length > 0) throw new CommandEnd(exitCodes.changes);
}

async function applyConfiguration(name: string, options: ApplyOptions): Promise<void> {
  const client = apiClient(options, "apiKey");
  const mayAsk = process.stdin.isTTY === true && name !== standardInput && options.json !== true;
  if (options.yes !== true && !mayAsk) {
    throw new CommandFailure("There is nobody to ask: confirm it with --yes.", { exitCode: exitCodes.usage });
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
    (await ask("Apply these changes? Only yes is taken for it: ")) !== "yes"
  ) {
    throw new CommandFailure("Nothing was changed.");
  }
  const body = asConfiguration(file);
  const ifMatch = `"${plan.generation}"`;
  const override = overrideReason === undefined ? {} : { overrideReason };
  const query = wait === undefined ? {} : { query: waitQuery(wait) };
  const done = await located(file, () =>
    client.ask(
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
  if (enforcement !== undefined && enforcement.state !== "applied") throw new CommandEnd(exitCodes.notEnforced);
}

function planOf(client: ApiClient, file: ConfigurationFile): Promise<ConfigurationPlan> {
  const body = asConfiguration(file);
  return located(file, () =>
    client.ask((gatehouse) => gatehouse.post(`${path}/plan`, { body, timeoutMs }), isConfigurationPlan),
  );
}

/** Whether it is one is for the other side to say, which knows the rules as well as the form. */
function asConfiguration({ document }: ConfigurationFile): Configuration {
  return document as Configuration;
}

function planSummary(plan: ConfigurationPlan): string {
  if (plan.changes.length === 0) return "Nothing to change: the tenant is as the file says.";
  return `Plan: ${summaryText(plan, ["to create", "to change", "to delete"])}.`;
}

/** Runs a call, and says of what is wrong with the document where that stands in the file. */
async function located<T>(file: ConfigurationFile, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (!(error instanceof CommandFailure) || error.problem === undefined) throw error;
    const { problem } = error;
    if (problem.code === "precondition_failed") {
      throw new CommandFailure("The tenant has changed since the plan was made: nothing was applied.", {
        details: ["Run gatehouse plan again, and look at what it shows now."],
        body: problem,
      });
    }
    const { errors = [] } = problem;
    const inFile = errors.filter(({ pointer }) => pointer === "" || pointer.startsWith("/"));
    if (inFile.length === 0) throw error;
    throw new CommandFailure(`${problem.title} (${problem.status}).`, {
      details: [
        ...inFile.map(({ pointer, message }) => `${file.name}:${file.placeOf(pointer)}  ${message}  (${pointer})`),
        ...(problem.detail.includes("are listed") ? [problem.detail] : []),
        `Request id: ${problem.requestId}`,
      ],
      body: { ...problem, errors: errors.map((field) => ({ ...field, place: file.placeOf(field.pointer) })) },
    });
  }
}
