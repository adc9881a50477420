/** What changes would do to access, and whether access is as tests say. */
import type { AccessTestResult } from "@gatehouse/contract/records/access-test";
import type { AccessCounts, EffectGroup } from "@gatehouse/contract/records/effect";
import type { AccessPreview } from "@gatehouse/contract/records/preview";
import type { Command } from "commander";
import { isAccessPreview, isAccessTestReport } from "../answers.ts";
import { readMappingFile } from "../configuration-file.ts";
import { CommandEnd, CommandFailure, exitCodes } from "../failure.ts";
import { writeJson, writeLines } from "../output.ts";
import { type ApiOptions, addApiOptions, apiClient } from "./api-options.ts";

/** Many changes take longer than one, in milliseconds. */
const timeoutMs = 120_000;

interface PreviewOptions extends ApiOptions {
  readonly change?: readonly string[];
  readonly from?: string;
  readonly country?: string;
  readonly at?: string;
}

interface TestOptions extends ApiOptions {
  readonly enforced?: true;
}

interface Change {
  readonly method: "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  readonly body?: unknown;
}

export function addAccessChangeCommands(access: Command): void {
  const preview = access
    .command("preview")
    .description("Shows who would gain and who would lose access if requests were sent. Changes nothing.")
    .argument("[file]", "a file in YAML or JSON with changes: a list of method, path and body; - for standard input")
    .option("--change <request>", "A request: method, path, and JSON where it has a body. Repeatable.", collect)
    .option("--from <address>", "The IP address that requests come from; absent: any.")
    .option("--country <code>", "The country that they come from, such as DE; absent: any.")
    .option("--at <time>", "The moment to decide for, such as 2026-03-04T10:00:00Z; absent: any.")
    .action(previewChanges)
    .addHelpText(
      "after",
      `
Examples:
  gatehouse access preview --change 'PATCH /tenants/policies/01980000-0000-7000-8000-000000000001/deactivate'
  gatehouse access preview changes.yaml --country DE`,
    );
  const test = access
    .command("test")
    .description("Runs the access tests of the tenant. Exits with 1 when one is broken.")
    .option("--enforced", "Only those that are enforced.")
    .action(runTests);
  for (const command of [preview, test]) addApiOptions(command, "apiKey");
}

function collect(request: string, before: readonly string[] = []): readonly string[] {
  return [...before, request];
}

async function previewChanges(file: string | undefined, options: PreviewOptions): Promise<void> {
  const client = apiClient(options, "apiKey");
  const { change: requests = [], from: sourceIp, country, at: time } = options;
  const given = file === undefined ? {} : (await readMappingFile(file, "changes: a list of requests")).document;
  // Whether they are requests is for the other side to say.
  const inFile = "changes" in given && Array.isArray(given.changes) ? (given.changes as readonly Change[]) : [];
  const changes = [...inFile, ...requests.map(parseChange)];
  if (changes.length === 0) {
    throw new CommandFailure("Say what would change: a file with changes, or --change.", {
      exitCode: exitCodes.usage,
    });
  }
  const asked = Object.entries({ sourceIp, country, time }).filter(([, value]) => value !== undefined);
  const context = Object.fromEntries(asked) as Record<string, string>; // what is undefined was left out
  const body = { ...given, changes, ...(asked.length === 0 ? {} : { context }) };
  const found = await client.ask(
    (gatehouse) => gatehouse.post("/tenants/policies/preview", { body, timeoutMs }),
    isAccessPreview,
  );
  await (options.json === true ? writeJson(found) : writeLines(previewLines(found)));
}

/** @throws CommandFailure */
function parseChange(request: string): Change {
  const [, method, path, body = ""] = /^\s*(POST|PUT|PATCH|DELETE)\s+(\S+)\s*([\s\S]*)$/.exec(request) ?? [];
  const wrong = (what: string) =>
    new CommandFailure(`--change ${what}: ${JSON.stringify(request.slice(0, 200))}.`, { exitCode: exitCodes.usage });
  if (method === undefined || path === undefined) {
    throw wrong("must be a method (POST, PUT, PATCH or DELETE), a path, and JSON where there is a body");
  }
  const change = { method: method as Change["method"], path }; // one of those
  if (body === "") return change;
  try {
    return { ...change, body: JSON.parse(body) as unknown };
  } catch {
    throw wrong("has a body that is not JSON");
  }
}

function previewLines({ gained, lost, groups, groupCount, brokenTests }: AccessPreview): readonly string[] {
  const lines = [`Gained: ${countsText(gained)}.`, `Lost: ${countsText(lost)}.`];
  for (const group of groups) lines.push("", ...groupLines(group));
  if (groupCount > groups.length) lines.push("", `and ${groupCount - groups.length} more groups`);
  if (brokenTests.length === 0) return lines;
  lines.push("", "These access tests would be broken:");
  for (const { name, enforced, broken, brokenCount } of brokenTests) {
    lines.push(`  ${name}${enforced ? " (enforced)" : ""}`, ...breachLines(broken, brokenCount));
  }
  return lines;
}

function countsText({ pairs, users, devices, sites, resources, internet }: AccessCounts): string {
  if (pairs === 0) return "nothing";
  const who = [counted(users, "user"), counted(devices, "device"), counted(sites, "site")].filter(
    (text) => text !== "",
  );
  const what = [counted(resources, "resource"), internet ? "the internet" : ""].filter((text) => text !== "");
  return `${who.join(", ")}, to ${what.join(" and ")}`;
}

function counted(count: number, noun: string): string {
  return count === 0 ? "" : `${count} ${noun}${count === 1 ? "" : "s"}`;
}

function groupLines(group: EffectGroup): readonly string[] {
  const { change, before, after, subjects, subjectCount, resources, resourceCount, internet } = group;
  const names = [...resources.map(({ name }) => name), ...(internet ? ["the internet"] : [])].join(", ");
  const more = resourceCount > resources.length ? ` and ${resourceCount - resources.length} more` : "";
  return [
    `${change === "gained" ? "+" : "-"} ${names}${more}: ${before} before, ${after} after`,
    ...subjects.map(({ kind, name, user }) => `    ${kind} ${name}${user === undefined ? "" : ` of ${user.name}`}`),
    ...(subjectCount > subjects.length ? [`    and ${subjectCount - subjects.length} more`] : []),
  ];
}

async function runTests(options: TestOptions): Promise<void> {
  const client = apiClient(options, "apiKey");
  const report = await client.ask(
    (gatehouse) => gatehouse.post("/tenants/access-tests/check", { timeoutMs }),
    isAccessTestReport,
  );
  const tests = report.tests.filter(({ enforced }) => options.enforced !== true || enforced);
  const count = (wanted: Standing) => tests.filter((test) => standingOf(test) === wanted).length;
  const summary = { holding: count("holds"), broken: count("broken"), missing: count("missing") };
  if (options.json === true) await writeJson({ ...report, summary, tests });
  else {
    const { holding, broken, missing } = summary;
    const gone = missing === 0 ? "" : `, ${missing} about what is not there any more`;
    await writeLines([...tests.flatMap(testLines), `${holding} hold, ${broken} broken${gone}.`]);
  }
  if (summary.broken > 0) throw new CommandEnd(exitCodes.failed);
}

type Standing = "holds" | "broken" | "missing";

function standingOf({ state }: AccessTestResult): Standing {
  if (state.missing !== undefined) return "missing";
  return state.holds ? "holds" : "broken";
}

function testLines(test: AccessTestResult): readonly string[] {
  const { name = "", enforced, state } = test;
  const standing = standingOf(test);
  const line = `${standing.padEnd(7)}  ${name}${enforced ? " (enforced)" : ""}`;
  if (standing === "missing") return [`${line}: its ${state.missing} is not there any more`];
  return standing === "holds" ? [line] : [line, ...breachLines(state.broken, state.brokenCount)];
}

function breachLines(broken: AccessTestResult["state"]["broken"], count: number): readonly string[] {
  return [
    ...broken.map(({ user, device, level, policy }) => {
      const who = device === undefined ? user.name : `${user.name} with ${device.name}`;
      return `    ${who}: ${level}${policy === undefined ? "" : `, by ${policy.name}`}`;
    }),
    ...(count > broken.length ? [`    and ${count - broken.length} more`] : []),
  ];
}
