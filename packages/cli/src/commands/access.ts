import type {
  AccessDecision,
  ConsideredPolicy,
  FoundAccess,
  MissingAccessFact,
  RuleCondition,
} from "@gatehouse/contract/records/decision";
import { transportProtocols } from "@gatehouse/contract/records/protocol";
import { type Command, InvalidArgumentError, Option } from "commander";
import { CommandFailure, exitCodes } from "../failure.ts";
import { tableLines, writeJson, writeLines } from "../output.ts";
import { type FoundPage, isAccessDecision, isFoundPage } from "../response-checks.ts";
import { addAccessChangeCommands } from "./access-changes.ts";
import { type ApiOptions, addApiOptions, apiClient } from "./api-options.ts";
import { addPastAccessCommand } from "./past-access.ts";
import { divertedAddressText, sharedAddressText } from "./shared-address-text.ts";

interface CircumstanceOptions extends ApiOptions {
  readonly from?: string;
  readonly country?: string;
  readonly at?: string;
}

interface SubjectOptions {
  readonly user?: string;
  readonly device?: string;
}

interface DestinationOptions {
  readonly resource?: string;
  readonly address?: string;
  readonly protocol?: string;
  readonly port?: number;
}

export function addAccessCommands(program: Command): void {
  const access = program.command("access").description("Query who can access what, and why.");

  const explain = access
    .command("explain")
    .description("Evaluates one request and explains the decision.")
    .action(explainAccess)
    .addHelpText(
      "after",
      `
Examples:
  gatehouse access explain --user ann@example.com --resource Git
  gatehouse access explain --user ann@example.com --device 01980000-0000-7000-8000-000000000001 \\
    --address git.example.com --protocol TCP --port 22 --from 192.0.2.7 --at 2026-03-04T10:00Z`,
    );
  const whoCan = access
    .command("who-can")
    .description("Lists the users who can access a destination without a device; with --devices, the devices that can.")
    .option("--devices", "List devices with their users instead of users without a device.")
    .action(findSubjects);
  const whatCan = access
    .command("what-can")
    .description("Lists the resources that a user or device can access.")
    .action(findResources);
  for (const command of [explain, whatCan]) {
    command
      .option("--user <user>", "Id or email address of the user.")
      .option("--device <id>", "Id of the device. Without --user, the device's owner is the user.");
  }
  for (const command of [explain, whoCan]) {
    command
      .addOption(new Option("--resource <resource>", "Id or name of the resource.").conflicts("address"))
      .option("--address <address>", "IP address or host name of the destination.")
      .addOption(new Option("--protocol <protocol>", "Protocol. Requires --address.").choices(transportProtocols))
      .option("--port <port>", "Port. Requires --protocol.", parsePort);
  }
  for (const command of [explain, whoCan, whatCan]) {
    command
      .option("--from <address>", "Source IP address of the request.")
      .option("--country <code>", "Source country of the request, such as DE.")
      .option("--at <time>", "Time of the request, such as 2026-03-04T10:00Z (default: now).");
    addApiOptions(command, "apiKey");
  }
  addPastAccessCommand(access);
  addAccessChangeCommands(access);
}

const action = { name: "connect" };

async function explainAccess(options: CircumstanceOptions & SubjectOptions & DestinationOptions): Promise<void> {
  const { subject, deviceId } = subjectOf(options);
  const context = { ...contextOf(options), ...deviceId, explain: true };
  const body = { subject, action, resource: destinationOf(options), context };
  const client = apiClient(options, "apiKey");
  const decided = await client.call((gatehouse) => gatehouse.post("/access/v1/evaluation", { body }), isAccessDecision);
  await (options.json === true ? writeJson(decided) : writeLines(explanationLines(decided)));
}

async function findSubjects(
  options: CircumstanceOptions & DestinationOptions & { readonly devices?: true },
): Promise<void> {
  const type = options.devices === true ? "device" : "user";
  const body = { subject: { type }, action, resource: destinationOf(options), context: contextOf(options) };
  const found = await allPages(options, (client, page) =>
    client.call((gatehouse) => gatehouse.post("/access/v1/search/subject", { body: { ...body, page } }), isFoundPage),
  );
  await writeFound(found, { ...options, title: type === "user" ? "USER" : "DEVICE" });
}

async function findResources(options: CircumstanceOptions & SubjectOptions): Promise<void> {
  const { subject, deviceId } = subjectOf(options);
  const context = { ...contextOf(options), ...deviceId };
  const body = { subject, action, resource: { type: "resource" }, context };
  const found = await allPages(options, (client, page) =>
    client.call((gatehouse) => gatehouse.post("/access/v1/search/resource", { body: { ...body, page } }), isFoundPage),
  );
  await writeFound(found, { ...options, title: "RESOURCE" });
}

const pageLimit = 1_000;

async function allPages(
  options: ApiOptions,
  read: (
    client: ReturnType<typeof apiClient>,
    page: { readonly limit: number; readonly token?: string },
  ) => Promise<FoundPage>,
): Promise<Found> {
  const client = apiClient(options, "apiKey");
  const found: FoundAccess[] = [];
  let reason: string | undefined;
  let token = "";
  do {
    const page = await read(client, { limit: pageLimit, ...(token === "" ? {} : { token }) });
    for (const one of page.context.found) found.push(one);
    reason = page.context.reason;
    token = page.page.next_token;
  } while (token !== "");
  return { found, reason };
}

interface Found {
  readonly found: readonly FoundAccess[];
  /** Why there are no results before any policy is evaluated. */
  readonly reason: string | undefined;
}

/** @throws CommandFailure if no record has a given name: no results would claim that it has no access */
async function writeFound(
  { found, reason }: Found,
  { json, title, ...given }: ApiOptions & SubjectOptions & DestinationOptions & { readonly title: string },
): Promise<void> {
  for (const noun of ["user", "device", "resource"] as const) {
    if (reason === `unknown_${noun}`) throw new CommandFailure(`There is no ${noun} ${JSON.stringify(given[noun])}.`);
  }
  if (json === true) return writeJson(found);
  if (found.length === 0) return writeLines([reason === undefined ? "No results." : `No results: ${words(reason)}.`]);
  const rows = found.map(({ id, name, policy, gateways = [], mode }) => [
    name,
    policy?.name ?? "",
    mode ?? gateways.map((gateway) => gateway.name).join(", "),
    id,
  ]);
  return writeLines(tableLines([title, "POLICY", "THROUGH", "ID"], rows));
}

function subjectOf({ user, device }: SubjectOptions): {
  readonly subject: { readonly type: string; readonly id: string };
  readonly deviceId: { readonly deviceId?: string };
} {
  if (user !== undefined) {
    return { subject: { type: "user", id: user }, deviceId: device === undefined ? {} : { deviceId: device } };
  }
  if (device !== undefined) return { subject: { type: "device", id: device }, deviceId: {} };
  throw usage("The subject is missing. Use --user, --device, or both.");
}

function destinationOf({ resource, address, protocol, port }: DestinationOptions) {
  if (address !== undefined) {
    const properties = { ...(protocol === undefined ? {} : { protocol }), ...(port === undefined ? {} : { port }) };
    return { type: "address", id: address, properties };
  }
  if (resource === undefined) throw usage("The destination is missing. Use --resource or --address.");
  if (protocol !== undefined || port !== undefined) throw usage("--protocol and --port require --address.");
  return { type: "resource", id: resource };
}

function contextOf({ from, country, at }: CircumstanceOptions) {
  return {
    ...(from === undefined ? {} : { sourceIp: from }),
    ...(country === undefined ? {} : { country }),
    ...(at === undefined ? {} : { time: at }),
  };
}

function usage(message: string): CommandFailure {
  return new CommandFailure(message, { exitCode: exitCodes.usage });
}

function parsePort(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (port < 1 || port > 65_535) throw new InvalidArgumentError(`Port ${text} is out of range. Use 1 to 65535.`);
  return port;
}

/** The code in words, such as "denied by policy". */
function words(code: string): string {
  return code === "no_policy_allows" ? "no policy allows access" : code.replaceAll(/[_-]/g, " ");
}

function explanationLines({ decision, context }: AccessDecision): readonly string[] {
  const { reasons, policy, resource, gateways = [], mode, validUntil, explanation } = context;
  const facts = [
    ["Policy", policy?.name],
    ["Resource", resource?.name],
    ["Mode", mode],
    ["Gateways", gateways.length === 0 ? undefined : gateways.map(({ name }) => name).join(", ")],
    ["Until", validUntil],
  ].flatMap(([title = "", value]) => (value === undefined ? [] : [`  ${title.padEnd(8)}  ${value}`]));
  const lines = [`${decision ? "Allowed" : "Denied"}: ${reasons.map(words).join(", ")}.`, ...facts];
  if (explanation === undefined) return lines;
  const { policies, otherPolicies, nearestMiss, sharedAddresses = [], divertedAddresses = [] } = explanation;
  lines.push(...sharedAddresses.map((shared) => `  ${sharedAddressText(shared)}`));
  lines.push(...divertedAddresses.map((diverted) => `  ${divertedAddressText(diverted)}`));
  if (policies.length > 0) lines.push("", "Policies, in order of evaluation:", ...policies.flatMap(policyLines));
  if (otherPolicies > 0) lines.push(`  and ${otherPolicies} more, for other destinations or later in the order`);
  if (nearestMiss !== undefined) {
    const would =
      nearestMiss.policy === undefined ? "This would be allowed" : `"${nearestMiss.policy.name}" would allow this`;
    lines.push("", `${would} if:`, ...nearestMiss.missing.map((fact) => `  ${missingText(fact)}`));
  }
  return lines;
}

function policyLines({ policy, action: allows, outcome, sourceMatches, rule }: ConsideredPolicy): readonly string[] {
  const by = sourceMatches.map(({ kind, name }) => (name === undefined ? words(kind) : `${kind} ${name}`)).join(", ");
  const source = by === "" ? "" : ` (for ${by})`;
  const asked = outcome === "rule_not_met" || outcome === "decided" ? (rule?.conditions ?? []) : [];
  return [
    `  ${policy.name}: ${allows ? "allows" : "denies"}, ${words(outcome)}${source}`,
    ...asked.map((condition) => `    ${"  ".repeat(condition.depth)}${conditionText(condition)}`),
  ];
}

function conditionText({ text, met, error, values }: RuleCondition): string {
  const state = met === undefined ? "error  " : met ? "met    " : "not met";
  const seen = values.map(({ name, value, error: missing }) =>
    missing === undefined ? `${name} is ${value ?? "missing"}` : `${name}: ${missing}`,
  );
  const why = met === undefined && error !== undefined && seen.length === 0 ? [error] : seen;
  return `${state}  ${onOneLine(text)}${why.length === 0 ? "" : `  [${why.join("; ")}]`}`;
}

function missingText(fact: MissingAccessFact): string {
  const names = (list: MissingAccessFact["groups"]) => (list ?? []).map(({ name }) => name).join(" or ");
  switch (fact.kind) {
    case "subject":
    case "destination":
      return `not ${words(fact.reason ?? "")}`;
    case "denied-by":
      return `${fact.policy === undefined ? "a policy" : `"${fact.policy.name}"`} did not deny this`;
    case "source": {
      const alternatives = [
        fact.anyGroup === true ? "the user is in any group" : "",
        fact.anyDevice === true ? "the user has a device" : "",
        names(fact.groups) === "" ? "" : `the user is in ${names(fact.groups)}`,
        names(fact.users) === "" ? "" : `the user is ${names(fact.users)}`,
        names(fact.devices) === "" ? "" : `the device is ${names(fact.devices)}`,
      ];
      return alternatives.filter((text) => text !== "").join(", or ");
    }
    case "source-address":
      return `the request comes from ${(fact.sourceIps ?? []).join(" or ")}`;
    case "condition":
      return `${fact.negated === true ? "not " : ""}${onOneLine(fact.condition?.text ?? "")}${agentHint(fact)}`;
  }
}

/** A hint for `device.agent`, which does not change after the enrolment of a device. */
function agentHint({ condition, negated }: MissingAccessFact): string {
  const needsAgent = condition?.text.trim() === "device.agent" && negated !== true;
  return needsAgent ? " (the device needs the Gatehouse agent)" : "";
}

/** Replaces line breaks and control characters, which rules can contain. */
function onOneLine(text: string): string {
  return text.replaceAll(/[\s\p{Cc}]+/gu, " ");
}
