import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ListeningServer, startListeningServer } from "./listening-server.ts";

let server: ListeningServer;
let folder: string;

beforeAll(async () => {
  server = await startListeningServer();
  folder = await mkdtemp(join(tmpdir(), "gatehouse-test-"));
});
afterAll(async () => {
  await server.close();
  await rm(folder, { recursive: true });
});

/** Masks values that differ between tenants and runs: ids, times, positions and line ends of HTTP headers. */
function withoutChangingValues(output: string): string {
  return (
    output
      .replaceAll("\r\n", "\n")
      .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "<id>")
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "<time>")
      // The first tenant of an installation has more entries than a later one.
      .replaceAll(/position: \d+/g, "position: <position>")
  );
}

/** Runs shell commands in one shell. `npx gatehouse` runs the command from its sources. */
async function printedBy(commands: string, environment: Record<string, string>): Promise<string> {
  const command = fileURLToPath(new URL("../../packages/cli/src/testing/gatehouse-from-source.mjs", import.meta.url));
  const npx = `npx() { shift; "${process.execPath}" "${command}" "$@"; }`;
  const shell = spawn("bash", ["-c", `cd "${folder}"\n${npx}\n${commands}`], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { PATH: process.env.PATH, ...environment },
  });
  return text(shell.stdout);
}

test.each([
  ["docs/tour.md", "## The command"],
  ["docs/change-sets.md", undefined],
  ["docs/revert.md", undefined],
])("the commands of %s print the results that the page shows", { timeout: 120_000 }, async (name, end) => {
  const page = await readFile(new URL(`../../${name}`, import.meta.url), "utf8");
  const [shownPart = ""] = end === undefined ? [page] : page.split(end);
  const blocks = [...shownPart.matchAll(/^```(sh|text)\n([\s\S]*?)^```$/gm)];
  const steps = blocks.flatMap(([, language, content = ""], index) => {
    if (language !== "sh" || content.startsWith("export ")) return [];
    const [, following, result = ""] = blocks[index + 1] ?? [];
    return [{ commands: content, result: following === "text" ? result : undefined }];
  });
  const marker = "--- next step ---";
  const { apiKey } = await server.newTenant();
  const printed = await printedBy(steps.map(({ commands }) => commands).join(`\necho "${marker}"\n`), {
    GATEHOUSE_URL: server.url,
    GATEHOUSE_API_KEY: apiKey,
  });
  const results = printed.split(`${marker}\n`).map(withoutChangingValues);
  expect(results).toHaveLength(steps.length);
  const shown = steps.map(({ result }, index) => withoutChangingValues(result ?? results[index] ?? ""));
  expect(results).toEqual(shown);
});
