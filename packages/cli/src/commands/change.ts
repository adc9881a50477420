/** The command `change`. */
import type { Change, ChangeResult, ChangeSetResult } from "@gatehouse/contract/records/change-set";
import type { Command } from "commander";
import type { ApiClient } from "../api-client.ts";
import { type ConfigurationFile, readMappingFile } from "../configuration-file.ts";
import { CommandExit, CommandFailure, exitCodes } from "../failure.ts";
import { withPositions } from "../file-positions.ts";
import { tableLines, writeJson, writeLines } from "../output.ts";
import { isAccessPreview, isChangeSetResult } from "../response-checks.ts";
import { previewLines } from "./access-changes.ts";
import { type ApiOptions, addApiOptions, apiClient } from "./api-options.ts";
import { enforcementLines, enforcementOf, waitOption, waitQuery } from "./wait.ts";

/** The time limit in milliseconds: a set can contain many changes, and gateways take up to a minute. */
const timeoutMs = 120_000;

interface ChangeOptions extends ApiOptions {
  readonly file: string;
  readonly preview?: true;
  readonly overrideReason?: string;
  readonly wait?: number | true;
}

export function addChangeCommand(program: Command): void {
  const change = program
    .command("change")
    .summary("apply a set of changes")
    .description("Applies the changes of a file in one transaction: either all of them or none.")
    .requiredOption("--file <file>", "A YAML or JSON file with changes; - for standard input.")
    .option("--preview", "Show who would gain or lose access. Changes nothing.")
    .option(
      "--override-reason <text>",
      "Reason for overriding enforced access tests. It is stored in the audit record.",
    )
    .addOption(waitOption())
    .action(applyChanges)
    .addHelpText(
      "after",
      `
The file has a list \`changes\`. Each change has \`method\` and \`path\`, and can have \`body\`, \`ifMatch\` (the ETag of
the version to change) and \`as\` (a name). In later changes, @NAME stands for the id of the record that the change with
this name creates:

  changes:
    - { method: POST, path: /tenants/groups, body: { name: Engineers, roles: [] }, as: engineers }
    - { method: POST, path: /tenants/users, body: { email: ada@example.com, groups: ["@engineers"] } }

Examples:
  gatehouse change --file changes.yaml --preview
  gatehouse change --file changes.yaml --wait=30`,
    );
  addApiOptions(change, "apiKey");
}

async function applyChanges(options: ChangeOptions): Promise<void> {
  const { preview, overrideReason, wait, json } = options;
  if (preview === true && (overrideReason !== undefined || wait !== undefined)) {
    throw new CommandFailure("--preview changes nothing. Use it without --override-reason and --wait.", {
      exitCode: exitCodes.usage,
    });
  }
  const client = apiClient(options, "apiKey");
  const file = await readMappingFile(options.file, "`changes`, a list of requests");
  const body = asChangeSet(file);
  if (preview === true) return previewChanges(client, file, options);
  const override = overrideReason === undefined ? {} : { overrideReason };
  const query = wait === undefined ? {} : { query: waitQuery(wait) };
  const done = await withPositions(file, () =>
    client.call(
      (gatehouse) => gatehouse.post("/tenants/changes", { body, timeoutMs, ...query, ...override }),
      isChangeSetResult,
    ),
  );
  const enforcement = wait === undefined ? undefined : await enforcementOf(client);
  if (json === true) await writeJson(enforcement === undefined ? done : { ...done, enforcement });
  else {
    const lines = enforcement === undefined ? [] : enforcementLines(enforcement);
    await writeLines([...resultLines(body.changes, done), ...lines]);
  }
  if (enforcement !== undefined && enforcement.state !== "applied") throw new CommandExit(exitCodes.notEnforced);
}

async function previewChanges(client: ApiClient, file: ConfigurationFile, { json }: ChangeOptions): Promise<void> {
  const body = asChangeSet(file);
  const found = await withPositions(file, () =>
    client.call((gatehouse) => gatehouse.post("/tenants/policies/preview", { body, timeoutMs }), isAccessPreview),
  );
  await (json === true ? writeJson(found) : writeLines(previewLines(found)));
}

/** The document as a change set. The server validates it. */
function asChangeSet({ document }: ConfigurationFile): { changes: Change[] } {
  return document as { changes: Change[] };
}

function resultLines(changes: readonly Change[], { changes: results, generation }: ChangeSetResult): readonly string[] {
  const rows = results.map((result, index) => {
    const { method = "", path = "", as: name } = changes[index] ?? {};
    return [String(index), String(result.status), `${method} ${path}`, outcomeText(result, name)];
  });
  const count = results.length === 1 ? "1 change" : `${results.length} changes`;
  return [
    ...tableLines(["Change", "Status", "Request", "Result"], rows),
    `Applied ${count}. The tenant's generation is ${generation}.`,
  ];
}

function outcomeText({ events, location, status }: ChangeResult, name: string | undefined): string {
  if (events.length === 0) return "nothing changed";
  if (location !== undefined) return `created ${location}${name === undefined ? "" : ` as @${name}`}`;
  return status === 204 ? "done" : "changed";
}
