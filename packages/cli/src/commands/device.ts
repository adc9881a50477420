import { resolve } from "node:path";
import type { DeviceConfiguration } from "@gatehouse/contract/records/device-configuration";
import type { DeviceFolder, Enrolment } from "@gatehouse/device/configuration/device-folder";
import { deviceInterfacePattern, machineFacts, runObstacle } from "@gatehouse/device/machine";
import { type Command, InvalidArgumentError } from "commander";
import { isDeviceConfiguration } from "../answers.ts";
import { CommandFailure, exitCodes } from "../failure.ts";
import { writeError, writeJson, writeLines, writeText } from "../output.ts";
import { type ApiOptions, addApiOptions, apiClient } from "./api-options.ts";
import { enrolDevice } from "./device-enrolment.ts";
import { parseId } from "./parse-id.ts";
import { untilStopped } from "./stop-signals.ts";

interface FolderOptions {
  readonly stateFolder: string;
}

interface EnrolOptions extends ApiOptions, FolderOptions {
  readonly user?: string;
  readonly name?: string;
  readonly hardwareId?: string;
}

interface RunOptions extends FolderOptions {
  readonly interface: string;
  readonly dns: string;
  readonly dryRun?: true;
}

interface ConfigOptions extends ApiOptions, FolderOptions {
  readonly device?: string;
}

/** What Gatehouse is told. */
const agentVersion = "0.1.0";

export function addDeviceCommands(program: Command): void {
  const device = program
    .command("device")
    .summary("make this machine a device, and connect it")
    .description("Makes this machine a device of a user, and connects it to what the user may reach.");

  const enrol = device
    .command("enrol")
    .summary("register this machine as a device")
    .description(
      "Registers this machine as a device of a user, with a key of the tenant. The device's private key never leaves it; the API key is not kept. Interrupted, it is completed by running it again.",
    )
    .option("--user <user>", "The user's id or e-mail address.")
    .option("--name <name>", "What the device is called; absent: the machine's host name.")
    .option("--hardware-id <id>", "What identifies the machine; absent: /etc/machine-id.")
    .action(enrolThisMachine)
    .addHelpText(
      "after",
      `
Permissions: devices:write, and users:read for an e-mail address.

Examples:
  gatehouse device enrol --user ann@example.com --url https://gatehouse.example.com
  gatehouse device enrol --user ann@example.com --name "Ann's laptop" --state-folder ./device`,
    );
  const running = device
    .command("run")
    .summary("connect this device, and keep it so")
    .description(
      "Connects this device with WireGuard, and follows every change. Linux; root, or CAP_NET_ADMIN. SIGINT and SIGTERM take the tunnel away and end it.",
    )
    .option("--interface <name>", "Of WireGuard.", parseInterface, "gatehouse-dev0")
    .option("--dns <place>", "Where names are answered, as address or address:port; off: nowhere.", "127.0.0.153")
    .option("--dry-run", "Print what would be run for the kept configuration, and do nothing.")
    .action(runThisDevice);
  const config = device
    .command("config")
    .summary("print a device's configuration for wg-quick")
    .description(
      "Prints a device's configuration as a file for wg-quick and other WireGuard programs: as it is now with an API key, else as this device used it last. It does not follow changes.",
    )
    .option("--device <id>", "The device's id; absent: this machine's.", parseId)
    .action(printConfiguration)
    .addHelpText(
      "after",
      `
Examples:
  gatehouse device config > gatehouse.conf
  gatehouse device config --device 01980000-0000-7000-8000-000000000001 --api-key …`,
    );
  addApiOptions(enrol, "apiKey");
  addApiOptions(config, "apiKey");
  for (const command of [enrol, running, config]) {
    command.option("--state-folder <path>", "Keys and the last configuration.", "/var/lib/gatehouse-device");
  }
}

async function enrolThisMachine(options: EnrolOptions, command: Command): Promise<void> {
  const folder = await folderAt(options.stateFolder);
  const before = await enrolmentIn(folder);
  if (before?.token !== undefined) {
    await told(options, before, [
      `This machine is enrolled already, as ${enrolmentText(before)}.`,
      ...nextSteps(options, folder),
    ]);
    return;
  }
  if (before !== undefined && before.url !== options.url && isGiven(command, "url")) {
    throw new CommandFailure(`Enrolling was begun at ${before.url}: complete it there, or empty ${folder.path}.`);
  }
  const url = before?.url ?? options.url;
  const client = apiClient({ ...options, url }, "apiKey");
  const enrolled = await enrolDevice(client, folder, url, () => descriptionOf(options));
  await told(options, enrolled, [`Enrolled as ${enrolmentText(enrolled)}.`, ...nextSteps(options, folder)]);
}

/** Loaded late, as all that only devices need: other commands start without it. */
async function folderAt(path: string): Promise<DeviceFolder> {
  const { DeviceFolder } = await import("@gatehouse/device/configuration/device-folder");
  return new DeviceFolder(resolve(path));
}

async function descriptionOf({ user, name, hardwareId }: EnrolOptions) {
  if (user === undefined || user === "") {
    throw new CommandFailure("Whose device is it? Give --user, an e-mail address or an id.", {
      exitCode: exitCodes.usage,
    });
  }
  const facts = await machineFacts();
  const id = hardwareId ?? facts.hardwareId;
  if (id === undefined) {
    throw new CommandFailure("This machine has no /etc/machine-id: say what identifies it with --hardware-id.", {
      exitCode: exitCodes.usage,
    });
  }
  const { os, osVersion } = facts;
  return { user, name: name ?? facts.name, hardwareId: id, os, osVersion, appVersion: agentVersion };
}

/** The token is not shown: it is in the folder, and nobody needs it elsewhere. */
function told({ json }: ApiOptions, { url, device, name, user }: Enrolment, lines: readonly string[]): Promise<void> {
  return json === true ? writeJson({ url, device, name, user }) : writeLines(lines);
}

function enrolmentText({ name, device, user, url }: Enrolment): string {
  return `${name} (${device}) of ${user} at ${url}`;
}

function nextSteps({ stateFolder }: FolderOptions, folder: DeviceFolder): readonly string[] {
  const inFolder = stateFolder === "/var/lib/gatehouse-device" ? "" : ` --state-folder ${stateFolder}`;
  return [
    "",
    `Connect it:       sudo gatehouse device run${inFolder}`,
    `Enrol it anew:    delete the device at Gatehouse, empty ${folder.path}, and run this again.`,
  ];
}

async function runThisDevice(options: RunOptions): Promise<void> {
  const stateFolder = resolve(options.stateFolder);
  const settings = { interfaceName: options.interface, stateFolder };
  const enrolled = await enrolledDevice(await folderAt(stateFolder));
  const { dnsPlace, printDryRun, runDevice } = await import("@gatehouse/device/run-device");
  const dns = options.dns === "off" ? undefined : dnsPlace(options.dns);
  if (dns === undefined && options.dns !== "off") {
    throw new CommandFailure(`--dns must be an address, address:port, or off; it is ${JSON.stringify(options.dns)}.`, {
      exitCode: exitCodes.usage,
    });
  }
  if (options.dryRun === true) {
    const printed: string[] = [];
    if (await printDryRun(settings, (text) => printed.push(text))) return writeText(printed.join(""));
    return writeLines([
      `No configuration is kept yet: it would ask ${enrolled.url} for one, as the device ${enrolled.device}.`,
    ]);
  }
  const obstacle = await runObstacle();
  if (obstacle !== undefined) throw new CommandFailure(obstacle);
  await runDevice(enrolled, { ...settings, dns, writeLog: writeError, agentVersion }, untilStopped());
}

function enrolmentIn(folder: DeviceFolder): Promise<Enrolment | undefined> {
  return folder.enrolment().catch((error: unknown) => {
    throw unreadable(error, folder);
  });
}

async function enrolledDevice(folder: DeviceFolder): Promise<Enrolment & { readonly token: string }> {
  const enrolment = await enrolmentIn(folder);
  if (enrolment === undefined) {
    throw new CommandFailure(`This machine is not enrolled: there is nothing in ${folder.path}.`, {
      details: ["Enrol it: gatehouse device enrol --user ann@example.com"],
    });
  }
  const { token } = enrolment;
  if (token !== undefined) return { ...enrolment, token };
  throw new CommandFailure("Enrolling this machine was not completed.", {
    details: ["Complete it: run gatehouse device enrol again."],
  });
}

async function printConfiguration(options: ConfigOptions, command: Command): Promise<void> {
  const folder = await folderAt(options.stateFolder);
  const enrolment = await folder.enrolment().catch((error: unknown) => {
    if (options.device === undefined) throw unreadable(error, folder);
    return undefined;
  });
  const device = options.device ?? enrolment?.device;
  if (device === undefined) {
    throw new CommandFailure("Of which device? This machine is not enrolled: give --device.", {
      exitCode: exitCodes.usage,
    });
  }
  const { wgQuickText } = await import("@gatehouse/device/wg-quick");
  const isOwn = device === enrolment?.device;
  const privateKey = isOwn ? await folder.privateKey() : undefined;
  const hasKey = options.apiKey !== undefined && options.apiKey !== "";
  if (!hasKey && !isOwn) apiClient(options, "apiKey"); // says that a key is needed
  if (!hasKey) return printed(options, ...(await keptConfiguration(folder, privateKey)));
  const url = isOwn && enrolment !== undefined && !isGiven(command, "url") ? enrolment.url : options.url;
  const current = await apiClient({ ...options, url }, "apiKey").ask(
    (gatehouse) => gatehouse.get("/tenants/devices/{id}/configuration", { path: { id: device } }),
    isDeviceConfiguration,
  );
  await printed(options, current, wgQuickText(current, { privateKey, asOf: Date.now(), expiresAt: undefined }));
}

async function keptConfiguration(
  folder: DeviceFolder,
  privateKey: string | undefined,
): Promise<[configuration: DeviceConfiguration, text: string]> {
  const { wgQuickText } = await import("@gatehouse/device/wg-quick");
  const kept = await folder.configuration();
  if (kept === undefined || !isDeviceConfiguration(kept.content)) {
    throw new CommandFailure("This device has not used any configuration yet.", {
      details: ["Give an API key with devices:read, --api-key, to ask Gatehouse for the present one."],
    });
  }
  const { issuedAt: asOf, expiresAt } = kept.header;
  return [kept.content, wgQuickText(kept.content, { privateKey, asOf, expiresAt })];
}

function printed({ json }: ApiOptions, configuration: DeviceConfiguration, text: string): Promise<void> {
  return json === true ? writeJson(configuration) : writeText(text);
}

function isGiven(command: Command, option: string): boolean {
  return command.getOptionValueSource(option) !== "default";
}

function unreadable(error: unknown, folder: DeviceFolder): CommandFailure {
  const reason = error instanceof Error ? error.message : String(error);
  const isForbidden = error instanceof Error && "code" in error && error.code === "EACCES";
  const remedy = isForbidden
    ? "Run it as root, with sudo."
    : `To enrol this machine anew, delete the device at Gatehouse and empty ${folder.path}.`;
  const sentence = reason.endsWith(".") ? reason : `${reason}.`;
  return new CommandFailure(`${folder.path} cannot be read: ${sentence}`, { details: [remedy] });
}

function parseInterface(text: string): string {
  if (!deviceInterfacePattern.test(text)) {
    throw new InvalidArgumentError("A letter, then letters, digits and hyphens, 15 at most.");
  }
  return text;
}
