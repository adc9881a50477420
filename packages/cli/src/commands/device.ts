import { resolve } from "node:path";
import type { DeviceConfiguration } from "@gatehouse/contract/records/device-configuration";
import type { DeviceFolder, Enrolment } from "@gatehouse/device/configuration/device-folder";
import { deviceInterfacePattern, machineFacts, runObstacle } from "@gatehouse/device/machine";
import { type Command, InvalidArgumentError, Option } from "commander";
import { CommandFailure, exitCodes } from "../failure.ts";
import { writeError, writeJson, writeLines, writeText } from "../output.ts";
import { isDeviceConfiguration } from "../response-checks.ts";
import { type ApiOptions, addApiOptions, apiClient, callableUrl, urlOf } from "./api-options.ts";
import { enrolByKey, enrolBySignIn, enrolDevice, signInOnDevice } from "./device-enrolment.ts";
import { addDeviceStatusCommands } from "./device-status.ts";
import { readEnrolmentKey } from "./enrolment-key-file.ts";
import { parseId } from "./parse-id.ts";
import { untilStopped } from "./stop-signals.ts";

interface FolderOptions {
  readonly stateFolder: string;
}

interface EnrolOptions extends ApiOptions, FolderOptions {
  readonly user?: string;
  readonly keyFile?: string;
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

/** The version that the device reports. */
const agentVersion = "0.1.0";

export function addDeviceCommands(program: Command): void {
  const device = program
    .command("device")
    .summary("enrol this machine as a device and connect it")
    .description(deviceDescription);
  addDeviceSubcommands(device);
}

export const deviceDescription =
  "Enrols this machine as a user's device and connects it to the resources that the user can access.";

/** Adds the commands of a device to `gatehouse device`, or to `gatehouse-device`, the command of the device package. */
export function addDeviceSubcommands(device: Command): void {
  const name = nameOf(device);
  const enrol = device
    .command("enrol")
    .summary("register this machine as a device")
    .description(
      "Registers this machine as your device: sign in on any machine, and approve it. With --key-file, registers a server with an enrolment key, without a person. With --user, registers it for that user, which requires an API key or gatehouse login. The key is not stored. The device's private key never leaves the machine. If the command is interrupted, run it again.",
    )
    .option("--user <user>", "Id or email address of the user (default: the person who signs in).")
    .addOption(new Option("--key-file <path>", "File with an enrolment key; - for standard input.").conflicts("user"))
    .option("--name <name>", "Name of the device (default: the host name).")
    .option("--hardware-id <id>", "Identifier of the machine (default: the content of /etc/machine-id).")
    .action(enrolThisMachine)
    .addHelpText(
      "after",
      `
Permissions with --user: devices:write, and users:read for an email address.

Examples:
  ${name} enrol --url https://gatehouse.example.com
  ${name} enrol --key-file /run/secrets/enrolment-key --url https://gatehouse.example.com
  ${name} enrol --user ann@example.com --url https://gatehouse.example.com
  ${name} enrol --user ann@example.com --name "Ann's laptop" --state-folder ./device`,
    );
  const signingIn = device
    .command("sign-in")
    .summary("sign in again on this device")
    .description(
      "Begins a new session of this device: sign in on any machine as the device's user, and approve it. The agent continues or reconnects by itself.",
    )
    .action(signInOnThisDevice);
  const running = device
    .command("run")
    .summary("connect this device")
    .description(
      "Connects this device with WireGuard and follows every configuration change. Runs on Linux as root or with CAP_NET_ADMIN. SIGINT and SIGTERM remove the tunnel and stop the command.",
    )
    .option("--interface <name>", "Name of the WireGuard interface.", parseInterface, "gatehouse-dev0")
    .option(
      "--dns <place>",
      "Address or address:port of the DNS server on this device; off to disable it.",
      "127.0.0.153",
    )
    .option("--dry-run", "Print the commands for the stored configuration without running them.")
    .action(runThisDevice);
  const config = device
    .command("config")
    .summary("print a device's configuration for wg-quick")
    .description(
      "Prints a device's configuration as a file for wg-quick and WireGuard apps. With an API key, prints the current configuration; otherwise, the last configuration of this device. The output does not follow later changes.",
    )
    .option("--device <id>", "Id of the device (default: this machine's device).", parseId)
    .action(printConfiguration)
    .addHelpText(
      "after",
      `
Examples:
  ${name} config > gatehouse.conf
  ${name} config --device 01980000-0000-7000-8000-000000000001 --api-key …`,
    );
  const replacing = device
    .command("replace-key")
    .summary("replace this device's WireGuard key")
    .description(
      "Replaces the WireGuard key of this device while its agent is stopped. The former key stays in the folder: the agent proves both when it connects, so that Gatehouse accepts the new one.",
    )
    .action(replaceDeviceKey);
  addApiOptions(enrol, "apiKey");
  addApiOptions(config, "apiKey");
  const asking = addDeviceStatusCommands(device, name);
  for (const command of [enrol, signingIn, running, ...asking, config, replacing]) {
    command.option(
      "--state-folder <path>",
      "Folder with the keys and the last configuration.",
      "/var/lib/gatehouse-device",
    );
  }
}

/** The words that start a command line: `gatehouse device` or `gatehouse-device`. */
function nameOf(command: Command): string {
  return command.parent === null ? command.name() : `${nameOf(command.parent)} ${command.name()}`;
}

/** The name of the group that holds a subcommand. */
function groupOf(command: Command): string {
  return nameOf(command.parent ?? command);
}

async function enrolThisMachine(options: EnrolOptions, command: Command): Promise<void> {
  const folder = await folderAt(options.stateFolder);
  const before = await enrolmentIn(folder);
  if (before?.token !== undefined) {
    await report(options, before, [
      `This machine is already enrolled as ${enrolmentText(before)}.`,
      ...nextSteps(options, folder, groupOf(command)),
    ]);
    return;
  }
  if (before !== undefined && before.url !== options.url && isGiven(command, "url")) {
    throw new CommandFailure(`Enrolment was started at ${before.url}. Complete it there, or empty ${folder.path}.`);
  }
  const url = before?.url ?? urlOf(options);
  const enrolled = await enrolmentAt(folder, url, options, before !== undefined);
  await report(options, enrolled, [
    `Enrolled as ${enrolmentText(enrolled)}.`,
    ...nextSteps(options, folder, groupOf(command)),
  ]);
}

/** @param begun whether an enrolment with an API key was interrupted */
async function enrolmentAt(
  folder: DeviceFolder,
  url: string,
  options: EnrolOptions,
  begun: boolean,
): Promise<Enrolment & { readonly token?: string }> {
  if (options.keyFile !== undefined && !begun) {
    const key = await readEnrolmentKey(options.keyFile);
    announceConnection(url);
    return enrolByKey(folder, callableUrl(url), key, await machineOf(options));
  }
  const hasKey = options.apiKey !== undefined && options.apiKey !== "";
  // Without a user and a key, the person who signs in is the user.
  if (!hasKey && !begun && (options.user === undefined || options.user === "")) {
    announceConnection(url);
    return enrolBySignIn(folder, callableUrl(url), await machineOf(options));
  }
  const client = apiClient({ ...options, url }, "apiKey");
  announceConnection(url);
  return enrolDevice(client, folder, url, async () => descriptionOf(options));
}

/** Shows what the command waits for. The command gives up on a silent server only after several seconds. */
function announceConnection(url: string): void {
  writeError(`Connecting to ${url} …\n`);
}

/** Loaded on demand, like all modules that only devices need, so that other commands start faster. */
async function folderAt(path: string): Promise<DeviceFolder> {
  const { DeviceFolder } = await import("@gatehouse/device/configuration/device-folder");
  return new DeviceFolder(resolve(path));
}

async function descriptionOf(options: EnrolOptions) {
  const { user } = options;
  if (user === undefined || user === "") {
    throw new CommandFailure("The user is missing. Set --user to an email address or an id.", {
      exitCode: exitCodes.usage,
    });
  }
  return { user, ...(await machineOf(options)) };
}

async function machineOf({ name, hardwareId }: EnrolOptions) {
  const facts = await machineFacts();
  const id = hardwareId ?? facts.hardwareId;
  if (id === undefined) {
    throw new CommandFailure("This machine has no /etc/machine-id. Set an identifier with --hardware-id.", {
      exitCode: exitCodes.usage,
    });
  }
  const { os, osVersion } = facts;
  return { name: name ?? facts.name, hardwareId: id, os, osVersion, appVersion: agentVersion };
}

/** Reports an enrolment. The token stays in the folder, because nobody needs it elsewhere. */
function report({ json }: ApiOptions, { url, device, name, user }: Enrolment, lines: readonly string[]): Promise<void> {
  return json === true ? writeJson({ url, device, name, user }) : writeLines(lines);
}

function enrolmentText({ name, device, user, url }: Enrolment): string {
  return `${name} (${device}) of ${user} at ${url}`;
}

function nextSteps({ stateFolder }: FolderOptions, folder: DeviceFolder, group: string): readonly string[] {
  const inFolder = stateFolder === "/var/lib/gatehouse-device" ? "" : ` --state-folder ${stateFolder}`;
  // The package with this command has a service, which uses the default folder.
  const hasService = group === "gatehouse-device" && inFolder === "";
  return [
    "",
    `To connect:       sudo ${hasService ? "systemctl start gatehouse-device" : `${group} run${inFolder}`}`,
    `To enrol again:   delete the device in Gatehouse, empty ${folder.path}, and run this command again.`,
  ];
}

async function signInOnThisDevice({ stateFolder }: FolderOptions, command: Command): Promise<void> {
  const folder = await folderAt(stateFolder);
  const enrolled = await enrolledDevice(folder, groupOf(command));
  announceConnection(enrolled.url);
  const endsAt = await signInOnDevice(folder, { ...enrolled, url: callableUrl(enrolled.url) });
  const until = endsAt === undefined ? "It does not end by itself." : `It ends at ${endsAt}.`;
  await writeLines([`Signed in on ${enrolled.name}. The session has begun. ${until}`]);
}

async function replaceDeviceKey({ stateFolder }: FolderOptions, command: Command): Promise<void> {
  const folder = await folderAt(stateFolder);
  await enrolledDevice(folder, groupOf(command));
  await writeLines([`The new public key is ${await folder.replaceKey()}. Start the agent: ${groupOf(command)} run`]);
}

async function runThisDevice(options: RunOptions, command: Command): Promise<void> {
  const stateFolder = resolve(options.stateFolder);
  const settings = { interfaceName: options.interface, stateFolder };
  const enrolled = await enrolledDevice(await folderAt(stateFolder), groupOf(command));
  const { parseDnsAddress, printDryRun, runDevice } = await import("@gatehouse/device/run-device");
  const dns = options.dns === "off" ? undefined : parseDnsAddress(options.dns);
  if (dns === undefined && options.dns !== "off") {
    throw new CommandFailure(
      `${JSON.stringify(options.dns)} is not a valid --dns. Use an address, address:port, or off.`,
      {
        exitCode: exitCodes.usage,
      },
    );
  }
  if (options.dryRun === true) {
    const printed: string[] = [];
    if (await printDryRun(settings, (text) => printed.push(text))) return writeText(printed.join(""));
    return writeLines([
      `No configuration is stored yet. The agent would request one from ${enrolled.url} for the device ${enrolled.device}.`,
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

async function enrolledDevice(folder: DeviceFolder, group: string): Promise<Enrolment & { readonly token: string }> {
  const enrolment = await enrolmentIn(folder);
  if (enrolment === undefined) {
    throw new CommandFailure(`This machine is not enrolled: ${folder.path} has no enrolment.`, {
      details: [`Run ${group} enrol --user ann@example.com first.`],
    });
  }
  const { token } = enrolment;
  if (token !== undefined) return { ...enrolment, token };
  throw new CommandFailure("The enrolment of this machine is incomplete.", {
    details: [`Run ${group} enrol again.`],
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
    throw new CommandFailure("The device is missing, and this machine is not enrolled. Set --device.", {
      exitCode: exitCodes.usage,
    });
  }
  const { wgQuickText } = await import("@gatehouse/device/wg-quick");
  const isOwn = device === enrolment?.device;
  const privateKey = isOwn ? await folder.privateKey() : undefined;
  const hasKey = options.apiKey !== undefined && options.apiKey !== "";
  if (!hasKey && !isOwn) apiClient(options, "apiKey"); // throws because the key is missing
  if (!hasKey) return printed(options, ...(await storedConfiguration(folder, privateKey)));
  const url = isOwn && enrolment !== undefined && !isGiven(command, "url") ? enrolment.url : urlOf(options);
  const current = await apiClient({ ...options, url }, "apiKey").call(
    (gatehouse) => gatehouse.get("/tenants/devices/{id}/configuration", { path: { id: device } }),
    isDeviceConfiguration,
  );
  await printed(options, current, wgQuickText(current, { privateKey, asOf: Date.now(), expiresAt: undefined }));
}

async function storedConfiguration(
  folder: DeviceFolder,
  privateKey: string | undefined,
): Promise<[configuration: DeviceConfiguration, text: string]> {
  const { wgQuickText } = await import("@gatehouse/device/wg-quick");
  const stored = await folder.configuration();
  if (stored === undefined || !isDeviceConfiguration(stored.content)) {
    throw new CommandFailure("This device has not received a configuration yet.", {
      details: ["To request the current configuration, set --api-key to a key with the permission devices:read."],
    });
  }
  const { issuedAt: asOf, expiresAt } = stored.header;
  return [stored.content, wgQuickText(stored.content, { privateKey, asOf, expiresAt })];
}

function printed({ json }: ApiOptions, configuration: DeviceConfiguration, text: string): Promise<void> {
  return json === true ? writeJson(configuration) : writeText(text);
}

function isGiven(command: Command, option: string): boolean {
  return ["cli", "env"].includes(command.getOptionValueSource(option) ?? "");
}

function unreadable(error: unknown, folder: DeviceFolder): CommandFailure {
  const reason = error instanceof Error ? error.message : String(error);
  const isForbidden = error instanceof Error && "code" in error && error.code === "EACCES";
  const remedy = isForbidden
    ? "Run the command as root, with sudo."
    : `To enrol this machine again, delete the device in Gatehouse and empty ${folder.path}.`;
  const sentence = reason.endsWith(".") ? reason : `${reason}.`;
  return new CommandFailure(`Cannot read ${folder.path}: ${sentence}`, { details: [remedy] });
}

function parseInterface(text: string): string {
  if (!deviceInterfacePattern.test(text)) {
    throw new InvalidArgumentError("Use a letter, followed by letters, digits and hyphens; at most 15 characters.");
  }
  return text;
}
