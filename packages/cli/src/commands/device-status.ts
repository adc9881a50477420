/** `gatehouse device status` and `gatehouse device check`: questions to the agent that runs on this machine. */
import { resolve } from "node:path";
import type { AccessCheck, StepResult } from "@gatehouse/device/check/check-result";
import type { DeviceFolder } from "@gatehouse/device/configuration/device-folder";
import type { AgentReply } from "@gatehouse/device/status/ask-agent";
import type { DeviceStatus, GatewayStatus, SessionStatus } from "@gatehouse/device/status/device-status";
import { type Command, InvalidArgumentError } from "commander";
import { CommandExit, CommandFailure, exitCodes } from "../failure.ts";
import { tableLines, writeJson, writeLines } from "../output.ts";

interface StatusOptions {
  readonly stateFolder: string;
  readonly json?: true;
}

interface CheckOptions extends StatusOptions {
  readonly port?: number;
}

/** Adds the commands. @param name the words that start a command line @returns the commands */
export function addDeviceStatusCommands(device: Command, name: string): readonly Command[] {
  const status = device
    .command("status")
    .summary("show the state of this device")
    .description(
      "Asks the agent on this machine, and shows the device's user, the end of the session, the gateways with their last handshakes, paths and round-trip times, what is reachable, what no gateway in service carries, and the last error. Requires root. Exits with 1 if no agent runs.",
    )
    .option("--json", "Print JSON.")
    .action((options: StatusOptions) => showStatus(options, name));
  const check = device
    .command("check")
    .summary("show why a resource cannot be reached")
    .argument("<resource>", "Name or id of a resource, or an address or host name.")
    .description(
      "Checks the steps from this device to a resource: sign-in, decision, route, handshake, gateway, DNS and target. Names the first broken step and what to do. Sends packets only to the gateway of the resource, and to the resource itself: one TCP connection, which is closed at once. Requires root and a running agent. Exits with 1 if a step is broken.",
    )
    .option("--port <port>", "TCP port to connect to (default: the port that the resource offers).", parsePort)
    .option("--json", "Print JSON.")
    .action((resource: string, options: CheckOptions) => checkResource(resource, options, name))
    .addHelpText(
      "after",
      `
Examples:
  sudo ${name} check Git
  sudo ${name} check git.internal.example.com --port 22
  sudo ${name} check 10.80.0.7 --port 443 --json`,
    );
  return [status, check];
}

async function showStatus({ stateFolder, json }: StatusOptions, name: string): Promise<void> {
  const folder = resolve(stateFolder);
  const { askStatus } = await import("@gatehouse/device/status/ask-agent");
  const status = await answerOf(await askStatus(folder), folder, name);
  await (json === true ? writeJson({ running: true, ...status }) : writeLines(statusLines(status, Date.now())));
}

async function checkResource(resource: string, { stateFolder, port, json }: CheckOptions, name: string): Promise<void> {
  const folder = resolve(stateFolder);
  const { askCheck } = await import("@gatehouse/device/status/ask-agent");
  const check = await answerOf(await askCheck(folder, resource, port), folder, name);
  await (json === true ? writeJson(check) : writeLines(checkLines(check)));
  if (check.broken !== undefined) throw new CommandExit(exitCodes.failed);
}

/** @throws CommandFailure if the agent did not answer */
async function answerOf<Answer>(reply: AgentReply<Answer>, folder: string, name: string): Promise<Answer> {
  switch (reply.kind) {
    case "answer":
      return reply.answer;
    case "refused":
      throw new CommandFailure(reply.title);
    case "forbidden":
      throw new CommandFailure(`Cannot open ${folder}: permission denied.`, {
        details: ["Run the command as root, with sudo."],
      });
    case "not-running":
      throw await notRunning(folder, name);
  }
}

/** Returns a failure that states what is known without the agent. */
async function notRunning(path: string, name: string): Promise<CommandFailure> {
  const { DeviceFolder } = await import("@gatehouse/device/configuration/device-folder");
  const folder: DeviceFolder = new DeviceFolder(path);
  const enrolment = await folder.enrolment().catch((error: unknown) => (isForbidden(error) ? "forbidden" : undefined));
  if (enrolment === "forbidden") {
    return new CommandFailure(`Cannot open ${path}: permission denied.`, {
      details: ["Run the command as root, with sudo."],
    });
  }
  if (enrolment === undefined) {
    return new CommandFailure(`This machine is not enrolled: ${path} has no enrolment.`, {
      details: [`Enrol it: sudo ${name} enrol --url https://gatehouse.example.com`],
      body: { running: false, title: "This machine is not enrolled." },
    });
  }
  const { device: id, name: deviceName, user, url } = enrolment;
  return new CommandFailure(`The agent of ${deviceName} is not running, so this device reaches nothing.`, {
    details: [
      `The device belongs to ${user} at ${url}.`,
      "Start the agent: sudo systemctl start gatehouse-device",
      "Read its log: sudo journalctl -u gatehouse-device",
    ],
    body: { running: false, title: "The agent is not running.", device: { id, name: deviceName }, user, url },
  });
}

function isForbidden(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "EACCES" || error.code === "EPERM");
}

function statusLines(status: DeviceStatus, now: number): readonly string[] {
  const { device, user, controlPlane, session, configuration, gateways, reachable, unserved, lastError } = status;
  const connected = controlPlane.connected ? "connected" : "not connected";
  const validity =
    configuration === undefined
      ? "none: this device uses no gateway"
      : `issued ${configuration.issuedAt}, valid until ${configuration.expiresAt}`;
  return [
    `Device         ${device.name} (${device.id})`,
    `User           ${user}`,
    `Control plane  ${controlPlane.url} (${connected})`,
    `Session        ${sessionText(session, now)}`,
    `Configuration  ${validity}`,
    "",
    ...(gateways.length === 0
      ? ["No gateways."]
      : tableLines(["GATEWAY", "PATH", "LAST HANDSHAKE", "ROUND TRIP"], gateways.map(gatewayRow(now)))),
    "",
    `Reachable      ${reachableText(reachable)}`,
    ...(unserved === undefined ? [] : [`Unserved       ${listText([...unserved.names, ...unserved.addresses])}`]),
    ...(unserved === undefined
      ? []
      : ["               No gateway in service carries these addresses. Try again later."]),
    ...(lastError === undefined ? [] : [`Last error     ${formatAge(lastError.at, now)}: ${lastError.text}`]),
  ];
}

function sessionText({ state, endsAt }: SessionStatus, now: number): string {
  switch (state) {
    case "unknown":
      return "not known yet";
    case "unlimited":
      return "does not end by itself";
    case "ended":
      return `ended at ${endsAt}: sign in again`;
    case "ends-soon": {
      const minutes = Math.max(1, Math.round((Date.parse(endsAt ?? "") - now) / 60_000));
      return `ends at ${endsAt}, in ${minutes} ${minutes === 1 ? "minute" : "minutes"}: sign in again`;
    }
    case "active":
      return `ends at ${endsAt}`;
  }
}

function gatewayRow(now: number) {
  return ({ id, path, address, lastHandshake, roundTripTimeMs }: GatewayStatus): readonly string[] => [
    id,
    address === undefined ? path : `${path} ${address}`,
    lastHandshake === undefined ? "never" : formatAge(lastHandshake, now),
    roundTripTimeMs === undefined ? "no answer" : `${roundTripTimeMs} ms`,
  ];
}

function reachableText({ addresses, names, internet }: DeviceStatus["reachable"]): string {
  const all = [...names, ...addresses, ...(internet ? ["the internet through a gateway"] : [])];
  if (all.length === 0) return "nothing through gateways";
  return listText(all);
}

function listText(all: readonly string[]): string {
  const more = all.length > shownDestinations ? ` and ${all.length - shownDestinations} more (--json lists them)` : "";
  return `${all.slice(0, shownDestinations).join(", ")}${more}`;
}

const shownDestinations = 20;

function formatAge(time: string, now: number): string {
  const seconds = Math.max(0, Math.round((now - Date.parse(time)) / 1000));
  if (seconds < 120) return `${seconds} s ago`;
  const minutes = Math.round(seconds / 60);
  return minutes < 120 ? `${minutes} min ago` : `${Math.round(minutes / 60)} h ago`;
}

const marks = { ok: "ok     ", broken: "BROKEN ", unknown: "unknown", skipped: "-      " } as const;
const indent = " ".repeat(20);

function checkLines({ to, resource, broken, steps }: AccessCheck): readonly string[] {
  const subject = resource === undefined || resource === to ? to : `${to} (${resource})`;
  const result = broken === undefined ? `${subject}: no step is broken.` : `${subject}: ${broken} is broken.`;
  return [...steps.flatMap(stepLines), "", result];
}

function stepLines({ step, state, text, remedy }: StepResult): readonly string[] {
  const line = `${marks[state]}  ${step.padEnd(9)}  ${text}`;
  return remedy === undefined ? [line] : [line, `${indent}${remedy}`];
}

function parsePort(text: string): number {
  const port = Number(text);
  if (/^[0-9]{1,5}$/.test(text) && port >= 1 && port <= 65_535) return port;
  throw new InvalidArgumentError("Use a number from 1 to 65535.");
}
