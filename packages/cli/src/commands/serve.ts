import { type Config, readConfig, settingNames } from "@gatehouse/server/config";
import type { Gatehouse } from "@gatehouse/server/main";
import { createLog } from "@gatehouse/server/platform/log";
import type { Command } from "commander";
import { writeJsonLine, writeLines } from "../output.ts";
import { addSettingOptions, givenFlags } from "./setting-options.ts";
import { endInTime, untilStopped } from "./stop-signals.ts";
import { addressLines, createdKeyLines, createdKeyObject } from "./welcome.ts";

interface ServeOptions {
  readonly json?: true;
}

const jsonHelp = "Print lines of JSON: the keys created at this start, if any, then the address.";

export function addServeCommands(program: Command): void {
  const serveCommand = program
    .command("serve")
    .summary("serve the API")
    .description(
      "Serves the API and the console. Runs its own PostgreSQL unless --database-url is set. SIGINT and SIGTERM stop the server gracefully; a second signal stops it immediately. Logs are JSON on standard error.",
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
    .description("The same as serve --demo: creates example records in the first tenant once, then serves.")
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
  if (!json) print(writeLines(["Stopping …"]));
  await gatehouse.close();
}

/** Starts the server. Returns undefined if it was stopped during the start. */
async function start(config: Config, stopped: AbortSignal, json: boolean): Promise<Gatehouse | undefined> {
  // Loaded on demand, because no other command needs the server's modules.
  const { startGatehouse } = await import("@gatehouse/server/main");
  let keysCreated = false;
  try {
    const gatehouse = await startGatehouse(config, createLog(config.logLevel), {
      signal: stopped,
      onKeysCreated(installation) {
        keysCreated = true;
        if (!json) print(writeLines(createdKeyLines(installation, config)));
        else print(writeJsonLine(createdKeyObject(installation, config)));
      },
    });
    if (json) print(writeJsonLine({ address: gatehouse.address, documentation: `${gatehouse.address}/docs` }));
    else print(writeLines(addressLines(gatehouse, config, keysCreated)));
    return gatehouse;
  } catch (error) {
    if (stopped.aborted) return undefined;
    throw error;
  }
}

/** Ignores write errors: a reader that has gone, as in `npm start | head`, must not stop the server. */
function print(writing: Promise<void>): void {
  writing.catch(() => {});
}
