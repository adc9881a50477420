/** The commands `access preview` and `access test`. */
import type { AccessTestResult } from "@gatehouse/contract/records/access-test";
import type { AccessCounts, EffectGroup } from "@gatehouse/contract/records/effect";
import type { AccessPreview } from "@gatehouse/contract/records/preview";
import type { Command } from "commander";
import { readMappingFile } from "../configuration-file.ts";
import { CommandExit, CommandFailure, exitCodes } from "../failure.ts";
import { writeJson, writeLines } from "../output.ts";
import { isAccessPreview, isAccessTestReport } from "../response-checks.ts";
import { type ApiOptions, addApiOptions, apiClient } from "./api-options.ts";
import { sharedAddressText } from "./shared-address-text.ts";

/** The time limit in milliseconds. A preview can contain many changes. */
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
    .description("Shows who would gain or lose access if requests were sent. Changes nothing.")
    .argument("[file]", "a YAML or JSON file with changes, each with method, path and body; - for standard input")
    .option("--change <request>", "A request: method, path, and a JSON body if needed. Can be repeated.", collect)
    .option("--from <address>", "Source IP address of the requests (default: any).")
    .option("--country <code>", "Source country of the requests, such as DE (default: any).")
    .option("--at <time>", "Time of the requests, such as 2026-03-04T10:00:00Z (default: any).")
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
    .description("Runs the tenant's access tests. Exits with 1 if a test fails.")
    .option("--enforced", "Run only enforced tests.")
    .action(runTests);
  for (const command of [preview, test]) addApiOptions(command, "apiKey");
}

function collect(request: string, before: readonly string[] = []): readonly string[] {
  return [...before, request];
}

async function previewChanges(file: string | undefined, options: PreviewOptions): Promise<void> {
  const client = apiClient(options, "apiKey");
  const { change: requests = [], from: sourceIp, country, at: time } = options;
  const given = file === undefined ? {} : (await readMappingFile(file, "`changes`, a list of requests")).document;
  // The server validates the requests.
  const inFile = "changes" in given && Array.isArray(given.changes) ? (given.changes as readonly Change[]) : [];
  const changes = [...inFile, ...requests.map(parseChange)];
  if (changes.length === 0) {
    throw new CommandFailure("The changes are missing. Give a file with changes, or use --change.", {
      exitCode: exitCodes.usage,
    });
  }
  const circumstances = Object.entries({ sourceIp, country, time }).filter(([, value]) => value !== undefined);
  const context = Object.fromEntries(circumstances) as Record<string, string>; // undefined values were removed
  const body = { ...given, changes, ...(circumstances.length === 0 ? {} : { context }) };
  const found = await client.call(
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
    throw wrong("must be a method (POST, PUT, PATCH or DELETE), a path, and optionally a JSON body");
  }
  const change = { method: method as Change["method"], path }; // one of the methods in the pattern
  if (body === "") return change;
  try {
    return { ...change, body: JSON.parse(body) as unknown };
  } catch {
    throw wrong("has a body that is not JSON");
  }
}

/** A preview as text. */
export function previewLines(preview: AccessPreview): readonly string[] {
  const { gained, lost, groups, groupCount, brokenTests, sharedAddresses = [] } = preview;
  const lines = [`Gained: ${countsText(gained)}.`, `Lost: ${countsText(lost)}.`];
  for (const group of groups) lines.push("", ...groupLines(group));
  if (groupCount > groups.length) lines.push("", `and ${groupCount - groups.length} more groups`);
  if (sharedAddresses.length > 0) lines.push("", ...sharedAddresses.map(sharedAddressText));
  if (brokenTests.length === 0) return lines;
  lines.push("", "These access tests would fail:");
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
  const report = await client.call(
    (gatehouse) => gatehouse.post("/tenants/access-tests/check", { timeoutMs }),
    isAccessTestReport,
  );
  const tests = report.tests.filter(({ enforced }) => options.enforced !== true || enforced);
  const count = (wanted: Outcome) => tests.filter((test) => outcomeOf(test) === wanted).length;
  const summary = { holding: count("passed"), broken: count("failed"), missing: count("missing") };
  if (options.json === true) await writeJson({ ...report, summary, tests });
  else {
    const { holding, broken, missing } = summary;
    const gone = missing === 0 ? "" : `, ${missing} with deleted records`;
    await writeLines([...tests.flatMap(testLines), `${holding} passed, ${broken} failed${gone}.`]);
  }
  if (summary.broken > 0) throw new CommandExit(exitCodes.failed);
}

type Outcome = "passed" | "failed" | "missing";

function outcomeOf({ state }: AccessTestResult): Outcome {
  if (state.missing !== undefined) return "missing";
  return state.holds ? "passed" : "failed";
}

function testLines(test: AccessTestResult): readonly string[] {
  const { name = "", enforced, state } = test;
  const outcome = outcomeOf(test);
  const line = `${outcome.padEnd(7)}  ${name}${enforced ? " (enforced)" : ""}`;
  if (outcome === "missing") return [`${line}: its ${state.missing} was deleted`];
  return outcome === "passed" ? [line] : [line, ...breachLines(state.broken, state.brokenCount)];
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
