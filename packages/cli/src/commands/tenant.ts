import type { Tenant } from "@gatehouse/contract/records/tenant";
import type { Command } from "commander";
import { isNewTenant, isNothing, isTenant } from "../answers.ts";
import type { ApiClient } from "../api-client.ts";
import { CommandFailure, exitCodes } from "../failure.ts";
import { tableLines, writeJson, writeLines } from "../output.ts";
import { type ApiOptions, addApiOptions, apiClient } from "./api-options.ts";
import { ask } from "./ask.ts";
import { parseId } from "./parse-id.ts";
import { shownOnce } from "./shown-once.ts";

export function addTenantCommands(program: Command): void {
  const tenant = program
    .command("tenant")
    .summary("make, list and delete tenants, as the operator")
    .description("Make, list and delete tenants, as the operator.");

  const create = tenant
    .command("create")
    .summary("make a tenant, and show its first API key")
    .description("Makes a tenant, and shows its first API key, this once.")
    .argument("<name>", "the tenant's name")
    .requiredOption("--owner-email <email>", "E-mail address of the tenant's owner.")
    .action(createTenant)
    .addHelpText("after", '\nExample:\n  gatehouse tenant create "Example Ltd" --owner-email owner@example.com');
  const list = tenant.command("list").summary("list all tenants").description("Lists all tenants.").action(listTenants);
  const remove = tenant
    .command("delete")
    .summary("delete a tenant with everything in it")
    .description("Deletes a tenant with everything in it. This cannot be undone.")
    .argument("<id>", "the tenant's id, as tenant list shows it", parseId)
    .option("--yes", "Do not ask.")
    .action(deleteTenant);
  for (const command of [create, list, remove]) addApiOptions(command, "operatorKey");
}

async function createTenant(name: string, options: ApiOptions & { ownerEmail: string }): Promise<void> {
  const client = apiClient(options, "operatorKey");
  const body = { name, ownerEmail: options.ownerEmail };
  const made = await client.ask((gatehouse) => gatehouse.post("/operator/tenants", { body }), isNewTenant);
  const { tenant, apiKey } = made;
  const lines = [
    `Made the tenant ${tenant.name}.`,
    "",
    `  Id       ${tenant.id}`,
    `  API key  ${apiKey.key}`,
    "",
    "Keep the key: it is shown this once.",
  ];
  await shownOnce(
    options.json === true ? writeJson(made) : writeLines(lines),
    `it is that of the key ${apiKey.id}, the only one of its tenant; gatehouse tenant delete ${tenant.id} deletes both.`,
  );
}

async function listTenants(options: ApiOptions): Promise<void> {
  const client = apiClient(options, "operatorKey");
  const tenants: Tenant[] = [];
  const list = client.items((gatehouse) => gatehouse.list("/operator/tenants"), isTenant);
  for await (const tenant of list) tenants.push(tenant);
  if (options.json === true) return writeJson(tenants);
  const rows = tenants.map(({ id, name, ownerEmail, createdAt }) => [id, name, ownerEmail, createdAt]);
  await writeLines(
    rows.length === 0 ? ["There are no tenants."] : tableLines(["ID", "NAME", "OWNER", "CREATED"], rows),
  );
}

async function deleteTenant(id: string, options: ApiOptions & { yes?: true }): Promise<void> {
  const client = apiClient(options, "operatorKey");
  if (options.yes !== true) await confirmDeletion(client, id);
  await client.ask((gatehouse) => gatehouse.delete("/operator/tenants/{id}", { path: { id } }), isNothing);
  if (options.json === true) await writeJson({ deleted: id });
  else await writeLines([`Deleted the tenant ${id}.`]);
}

async function confirmDeletion(client: ApiClient, id: string): Promise<void> {
  if (process.stdin.isTTY !== true) {
    throw new CommandFailure("Deleting a tenant cannot be undone: confirm it with --yes.", {
      exitCode: exitCodes.usage,
    });
  }
  const { name } = await client.ask((gatehouse) => gatehouse.get("/operator/tenants/{id}", { path: { id } }), isTenant);
  const answer = await ask(`This deletes the tenant ${name} with everything in it, for good. Its name, to confirm: `);
  if (answer !== name) throw new CommandFailure("That is not its name: nothing was deleted.");
}
