import type { Irrevertible, Revert, UndoneEvent } from "@gatehouse/contract/records/revert";
import type { Command } from "commander";
import { CommandExit, CommandFailure, exitCodes } from "../failure.ts";
import { writeJson, writeLines } from "../output.ts";
import { isRevert } from "../response-checks.ts";
import { previewLines } from "./access-changes.ts";
import { type ApiOptions, addApiOptions, apiClient } from "./api-options.ts";
import { parseId } from "./parse-id.ts";
import { prompt } from "./prompt.ts";
import { enforcementLines, enforcementOf, waitOption, waitQuery } from "./wait.ts";

const path = "/tenants/events/{id}/revert";

/** The time limit in milliseconds: a revert can contain many changes, and gateways take up to a minute. */
const timeoutMs = 120_000;

interface RevertOptions extends ApiOptions {
  readonly preview?: true;
  readonly request?: true;
  readonly yes?: true;
  readonly overrideReason?: string;
  readonly wait?: number | true;
}

export function addEventCommands(program: Command): void {
  const event = program
    .command("event")
    .summary("revert an event of the audit record")
    .description("Revert an event of the audit record.");
  const revert = event
    .command("revert")
    .summary("revert an event")
    .description(
      "Restores what an event changed, in one transaction. Shows what it would do and asks for confirmation first.",
    )
    .argument("<id>", "the event's id, as in the audit record and in the header Gatehouse-Event", parseId)
    .option("--preview", "Show what the revert would do, and change nothing.")
    .option("--request", "Revert all events of the request that the event is part of.")
    .option("--yes", "Revert without confirmation.")
    .option(
      "--override-reason <text>",
      "Reason for overriding enforced access tests. It is stored in the audit record.",
    )
    .addOption(waitOption())
    .action(revertEvent)
    .addHelpText(
      "after",
      `
Only the fields that the event changed return to their previous values. A deleted record returns with a new id, and
references to it are repaired. If the tenant changes after the preview was shown, nothing is reverted.

A change set and a revert have an event for each of their changes. With --request, all of them are reverted as one.

Examples:
  gatehouse event revert 01980000-0000-7000-8000-000000000001 --preview
  gatehouse event revert 01980000-0000-7000-8000-000000000001 --request
  gatehouse event revert 01980000-0000-7000-8000-000000000001 --yes --wait=30`,
    );
  addApiOptions(revert, "apiKey");
}

async function revertEvent(id: string, options: RevertOptions): Promise<void> {
  const { json, preview, request, yes, overrideReason, wait } = options;
  const scope = request === true ? ({ scope: "request" } as const) : {};
  if (preview !== true && yes !== true && (process.stdin.isTTY !== true || json === true)) {
    throw new CommandFailure("Confirmation requires a terminal. Use --yes to revert without confirmation.", {
      exitCode: exitCodes.usage,
    });
  }
  const client = apiClient(options, "apiKey");
  const planned = await client.call(
    (gatehouse) => gatehouse.post(path, { path: { id }, query: { preview: true, ...scope }, timeoutMs }),
    isRevert,
  );
  if (json !== true) await writeLines(revertLines(planned));
  if (preview === true) {
    if (json === true) await writeJson(planned);
    return;
  }
  if (planned.changes.length > 0 && yes !== true && (await prompt("Revert? Enter yes to confirm: ")) !== "yes") {
    throw new CommandFailure("Cancelled. Nothing was changed.");
  }
  const done = await client.call(
    (gatehouse) =>
      gatehouse.post(path, {
        path: { id },
        ifMatch: `"${planned.generation}"`,
        timeoutMs,
        query: { ...scope, ...(wait === undefined ? {} : waitQuery(wait)) },
        ...(overrideReason === undefined ? {} : { overrideReason }),
      }),
    isRevert,
  );
  const enforcement = wait === undefined ? undefined : await enforcementOf(client);
  if (json === true) await writeJson(enforcement === undefined ? done : { ...done, enforcement });
  else await writeLines([...doneLines(done), ...(enforcement === undefined ? [] : enforcementLines(enforcement))]);
  if (enforcement !== undefined && enforcement.state !== "applied") throw new CommandExit(exitCodes.notEnforced);
}

function doneLines(revert: Revert): readonly string[] {
  if (revert.changes.length === 0) return [];
  const lines = recreatedIn(revert).map(({ type, id }) => `The ${type} has the new id ${id}.`);
  return ["Reverted.", ...lines];
}

function recreatedIn({ recreated, alsoRecreated = [] }: Revert): readonly NonNullable<Revert["recreated"]>[] {
  return recreated === undefined ? alsoRecreated : [recreated, ...alsoRecreated];
}

function scopeLines({ scope, requestEvents }: Revert): readonly string[] {
  if (scope === "request" || requestEvents === 1) return [];
  return ["", `Reverts 1 of the ${requestEvents} events of its request. Use --request to revert all of them.`];
}

function revertLines(revert: Revert): readonly string[] {
  const { changes, undoes, moreUndone, cannot, refused, access } = revert;
  const lines =
    changes.length === 0 && cannot.length === 0
      ? ["Nothing to revert: the record has its previous values."]
      : changes.map(({ method, path: to }) => `${method} ${to}`);
  return [
    ...lines,
    ...scopeLines(revert),
    ...recreatedIn(revert).flatMap(({ type }) => ["", `The ${type} returns with a new id.`]),
    ...section("Undoes these later events:", [
      ...undoes.map(undoneLine),
      ...(moreUndone ? ["There may be further events: there are too many to examine."] : []),
    ]),
    ...section("Cannot be reverted:", cannot.map(reasonLine)),
    ...(refused === undefined ? [] : ["", `The revert would be rejected: ${refused.detail} (${refused.code})`]),
    ...(access === undefined ? [] : ["", ...previewLines(access)]),
  ];
}

function section(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : ["", title, ...lines.map((line) => `  ${line}`)];
}

function undoneLine({ id, createdAt, operation, target, fields }: UndoneEvent): string {
  const what = fields.length === 0 ? "the whole record" : fields.join(", ");
  return `${createdAt}  ${operation} on ${target.type} ${target.name ?? target.id}: ${what} (${id})`;
}

function reasonLine({ message, field, record }: Irrevertible): string {
  const what = [field, record === undefined ? undefined : `${record.type} ${record.id}`].filter(
    (part) => part !== undefined,
  );
  return what.length === 0 ? message : `${what.join(", ")}: ${message}`;
}
