import { type Config, readConfig, settingNames } from "@gatehouse/server/config";
import type { DatabaseWait, Gatehouse } from "@gatehouse/server/main";
import { createLog, type Log } from "@gatehouse/server/platform/log";
import type { Command } from "commander";
import { writeJsonLine, writeLines } from "../output.ts";
import { KeysFile, publicUrlPlaceholder } from "./keys-file.ts";
import { SystemdNotifier } from "./notify-systemd.ts";
import { addSettingOptions, givenFlags } from "./setting-options.ts";
import { endInTime, untilStopped } from "./stop-signals.ts";
import { addressLines, addressObject, createdKeyLines, createdKeyObject, ownerLinkLines } from "./welcome.ts";

interface ServeOptions {
  readonly json?: true;
  readonly keysFile?: string;
}

interface Surroundings {
  readonly stopped: AbortSignal;
  readonly systemd: SystemdNotifier | undefined;
}

interface Output {
  readonly json: boolean;
  readonly keysFile: KeysFile | undefined;
}

const jsonHelp = "Print lines of JSON: the keys created at this start, if any, then the address.";
const keysFileFlag = "--keys-file <file>";
const keysFileHelp =
  "Write keys and links that are created at the first start to this file, readable by its owner only, and do not print them.";

export function addServeCommands(program: Command): void {
  const serveCommand = program
    .command("serve")
    .summary("serve the API")
    .description(
      "Serves the API and the console. Runs its own PostgreSQL unless --database-url is set. SIGINT and SIGTERM stop the server gracefully; a second signal stops it immediately. Logs are JSON on standard error.",
    )
    .option("--json", jsonHelp)
    .option(keysFileFlag, keysFileHelp)
    .action(({ json, keysFile, ...flags }: ServeOptions) => serve(givenFlags(flags), outputOf({ json, keysFile })));
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
    .option(keysFileFlag, keysFileHelp)
    .action(({ json, keysFile, ...flags }: ServeOptions) =>
      serve(givenFlags({ ...flags, demo: true }), outputOf({ json, keysFile })),
    );
  addSettingOptions(
    demoCommand,
    settingNames.filter((name) => name !== "demo"),
  );
}

function outputOf({ json, keysFile }: { json: true | undefined; keysFile: string | undefined }): Output {
  return { json: json === true, keysFile: keysFile === undefined ? undefined : new KeysFile(keysFile) };
}

async function serve(flags: Readonly<Record<string, string>>, output: Output): Promise<void> {
  const config = readConfig({ flags, environment: process.env });
  const log = createLog(config.logLevel);
  const stopped = untilStopped();
  const systemd = SystemdNotifier.of(process.env, log);
  const gatehouse = await endInTime(start(config, log, { stopped, systemd }, output), stopped);
  if (gatehouse === undefined) return;
  await systemd?.reportReady(`Serving on ${gatehouse.address}`);
  await new Promise<void>((resolve) => {
    if (stopped.aborted) resolve();
    stopped.addEventListener("abort", () => resolve());
  });
  if (!output.json) print(writeLines(["Stopping …"]));
  await gatehouse.close();
}

/** Starts the server. Returns undefined if it was stopped during the start. */
async function start(
  config: Config,
  log: Log,
  { stopped, systemd }: Surroundings,
  { json, keysFile }: Output,
): Promise<Gatehouse | undefined> {
  keysFile?.requireWritable();
  // Loaded on demand, because no other command needs the server's modules.
  const { forbidGlobalFetch } = await import("@gatehouse/server/platform/outbound/forbid-global-fetch");
  forbidGlobalFetch();
  const { startGatehouse } = await import("@gatehouse/server/main");
  let keysCreated = false;
  try {
    const gatehouse = await startGatehouse(config, log, {
      signal: stopped,
      onDatabaseWait: systemd === undefined ? undefined : (wait) => void systemd.reportReady(statusOf(wait)),
      onKeysCreated(installation) {
        keysCreated = true;
        if (keysFile !== undefined) {
          const link = ownerLinkLines(installation, publicUrlPlaceholder);
          keysFile.append([...createdKeyLines(installation, config), ...link]);
        } else if (!json) print(writeLines(createdKeyLines(installation, config)));
        else print(writeJsonLine(createdKeyObject(installation, config)));
      },
    });
    const shown = keysFile === undefined ? gatehouse : withoutSecrets(gatehouse);
    const keysWritten = keysFile?.complete(gatehouse.publicUrl, fileAddressLines(gatehouse, config)) === true;
    if (json) print(writeJsonLine(addressObject(shown)));
    else print(writeLines(addressLines(shown, config, keysCreated || keysWritten)));
    if (keysFile !== undefined && keysWritten && !json) {
      print(writeLines([`The first keys are in ${keysFile.path}. Read the file, then delete it.`]));
    }
    return gatehouse;
  } catch (error) {
    if (stopped.aborted) return undefined;
    throw error;
  }
}

function statusOf(wait: DatabaseWait | undefined): string {
  if (wait === undefined) return "The database answers. Starting";
  return `Waiting for the database at ${wait.database}: ${wait.reason}`;
}

/** Lines of the keys file after the keys and the owner's link, which the file already contains. */
function fileAddressLines(gatehouse: Gatehouse, config: Config): readonly string[] {
  const { address, publicUrl, installation } = gatehouse;
  return addressLines({ address, publicUrl, installation: { ...installation, owner: undefined } }, config, true);
}

function withoutSecrets(gatehouse: Gatehouse): Pick<Gatehouse, "address" | "publicUrl" | "installation"> {
  const { address, publicUrl, installation } = gatehouse;
  return {
    address,
    publicUrl,
    installation: { ...installation, operatorKey: undefined, firstApiKey: undefined, owner: undefined },
  };
}

/** Ignores write errors: a reader that has gone, as in `npm start | head`, must not stop the server. */
function print(writing: Promise<void>): void {
  writing.catch(() => {});
}
