import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { startTestServer } from "../../testing/test-server.ts";

/** Units that are not base units of Prometheus, as parts of a metric's name. */
const derivedUnits =
  /_(milliseconds|microseconds|nanoseconds|minutes|hours|days|weeks|kilobytes|megabytes|gigabytes|kibibytes|mebibytes|gibibytes|bits|percent|ms|us|ns|kb|mb|gb)(_|$)/;
const types = /_(counter|gauge|histogram|summary)(_|$)/;

/** The problems that `promtool check metrics` would report. */
function lint(text: string): string[] {
  const problems: string[] = [];
  const helps = new Set<string>();
  const kinds = new Map<string, string>();
  const samples = new Set<string>();
  for (const line of text.split("\n")) {
    const [, keyword, name = "", rest = ""] = /^# (HELP|TYPE) (\S+) ?(.*)$/.exec(line) ?? [];
    if (keyword === "HELP") {
      if (rest === "") problems.push(`${name} has no help text`);
      if (helps.has(name)) problems.push(`${name} has two help texts`);
      helps.add(name);
    } else if (keyword === "TYPE") {
      if (kinds.has(name)) problems.push(`${name} has two types`);
      kinds.set(name, rest);
    } else if (line !== "" && !line.startsWith("#")) {
      const sample = line.slice(0, line.lastIndexOf(" "));
      if (samples.has(sample)) problems.push(`${sample} is repeated`);
      samples.add(sample);
    }
  }
  for (const [name, kind] of kinds) {
    if (!helps.has(name)) problems.push(`${name} has no help text`);
    if (!/^[a-z_][a-z0-9_]*$/.test(name)) problems.push(`${name} is not in snake_case`);
    if (derivedUnits.test(name)) problems.push(`${name} has a derived unit`);
    if (types.test(name)) problems.push(`${name} names its type`);
    if ((kind === "counter") !== name.endsWith("_total")) problems.push(`${name} is a ${kind}`);
    if (kind !== "histogram" && kind !== "summary" && /_(count|sum|bucket)$/.test(name)) {
      problems.push(`${name} has a suffix of histograms`);
    }
  }
  for (const sample of samples) {
    const name = sample.replace(/\{.*/s, "");
    const base = name.replace(/_(bucket|sum|count)$/, "");
    if (!kinds.has(name) && !kinds.has(base)) problems.push(`${name} has no type`);
  }
  return problems;
}

function hasPromtool(): boolean {
  try {
    execFileSync("promtool", ["--version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

async function metricsText(): Promise<string> {
  const server = await startTestServer({ settings: { metrics: true } });
  try {
    await server.operator.get("/operator/tenants");
    return (await server.metrics?.text()) ?? "";
  } finally {
    await server.close();
  }
}

test("the metrics follow the naming rules of Prometheus", async () => {
  const text = await metricsText();
  expect(text).toContain("gatehouse_http_request_duration_seconds_bucket");
  // A server without TLS has no certificate that could expire.
  expect(text).not.toMatch(/^gatehouse_tls_certificate_expiry_seconds/m);
  expect(lint(text)).toEqual([]);
  // The program is not everywhere. The rules above are its rules.
  if (hasPromtool()) execFileSync("promtool", ["check", "metrics"], { input: text });
});

test("the naming rules find misnamed metrics", () => {
  expect(lint("# TYPE handles_total gauge\nhandles_total 1\nhandles_total 2\nother_ms 1\n")).toEqual([
    "handles_total is repeated",
    "handles_total has no help text",
    "handles_total is a gauge",
    "other_ms has no type",
  ]);
});
