import { type Config, readConfig, settingNames } from "@gatehouse/server/config";
import type { Gatehouse } from "@gatehouse/server/main";
import { createLog } from "@gatehouse/server/platform/log";
import type { Command } from "commander";
import { writeJsonLine, writeLines } from "../output.ts";
import { addSettingOptions, givenFlags } from "./setting-options.ts";
import { endInTime, untilStopped } from "./stop-signals.ts";
import { addressLines, madeKeyLines, madeKeyObject } from "./welcome.ts";

interface ServeOptions {
  readonly json?: true;
}

const jsonHelp = "Print lines of JSON: the keys made at this start, if any, then the address.";

export function addServeCommands(program: Command): void {
  const serveCommand = program
    .command("serve")
    .summary("serve the API")
    .description(
      "Serves the API, with PostgreSQL of its own unless --database-url names another. SIGINT and SIGTERM stop it in good order; a second one ends it at once. Logs are JSON on standard error.",
    )
    .option("--json", jsonHelp)
    .action(({ json, ...flags }: ServeOptions) => serve(givenFlags(flags), json === true));
  addSettingOptions(serveCommand, settingNames).addHelpText(
    "after",
    `
Examples:
  gatehouse serve --port 9000 --data-dir /var/lib/gatehouse
  GATEHOUSE_DATABASE_URL=postgres://… GATEHOUSE_MASTER_KEY=… gatehouse serve --host 0.0.0.0`,
  );
  const demoCommand = program
    .command("demo")
    .summary("serve the API with example records")
    .description("Does what serve --demo does: fills the first tenant with example records, once, and serves.")
    .option("--json", jsonHelp)
    .action(({ json, ...flags }: ServeOptions) => serve(givenFlags({ ...flags, demo: true }), json === true));
  addSettingOptions(
    demoCommand,
    settingNames.filter((name) => name !== "demo"),
  );
}

async function serve(flags: Readonly<Record<string, string>>, json: boolean): Promise<void> {
  const config = readConfig({ flags, environment: process.env });
  const stopped = untilStopped();
  const gatehouse = await endInTime(start(config, stopped, json), stopped);
  if (gatehouse === undefined) return;
  await new Promise<void>((resolve) => {
    if (stopped.aborted) resolve();
    stopped.addEventListener("abort", () => resolve());
  });
  if (!json) tell(writeLines(["Stopping …"]));
  await gatehouse.close();
}

/** @returns undefined when it was stopped before it had started */
async function start(config: Config, stopped: AbortSignal, json: boolean): Promise<Gatehouse | undefined> {
  // Loaded late: no other command needs a server's worth of modules.
  const { startGatehouse } = await import("@gatehouse/server/main");
  let keysMade = false;
  try {
    const gatehouse = await startGatehouse(config, createLog(config.logLevel), {
      signal: stopped,
      keysMade(installation) {
        keysMade = true;
        if (!json) tell(writeLines(madeKeyLines(installation, config)));
        else tell(writeJsonLine(madeKeyObject(installation, config)));
      },
    });
    if (json) tell(writeJsonLine({ address: gatehouse.address, documentation: `${gatehouse.address}/docs` }));
    else tell(writeLines(addressLines(gatehouse, config, keysMade)));
    return gatehouse;
  } catch (error) {
    if (stopped.aborted) return undefined;
    throw error;
  }
}

/** Whoever reads the output may go away, as `npm start | head` does; that is no reason to stop serving. */
function tell(writing: Promise<void>): void {
  writing.catch(() => {});
}
