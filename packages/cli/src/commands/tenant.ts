import type { Tenant } from "@gatehouse/contract/records/tenant";
import type { Command } from "commander";
import type { ApiClient } from "../api-client.ts";
import { CommandFailure, exitCodes } from "../failure.ts";
import { tableLines, writeJson, writeLines } from "../output.ts";
import { isNewTenant, isNothing, isTenant } from "../response-checks.ts";
import { type ApiOptions, addApiOptions, apiClient } from "./api-options.ts";
import { parseId } from "./parse-id.ts";
import { prompt } from "./prompt.ts";
import { shownOnce } from "./shown-once.ts";

export function addTenantCommands(program: Command): void {
  const tenant = program
    .command("tenant")
    .summary("create, list and delete tenants, as the operator")
    .description("Create, list and delete tenants, as the operator.");

  const create = tenant
    .command("create")
    .summary("create a tenant")
    .description("Creates a tenant and shows its first API key once.")
    .argument("<name>", "the tenant's name")
    .requiredOption("--owner-email <email>", "Email address of the tenant's owner.")
    .action(createTenant)
    .addHelpText("after", '\nExample:\n  gatehouse tenant create "Example Ltd" --owner-email owner@example.com');
  const list = tenant.command("list").summary("list all tenants").description("Lists all tenants.").action(listTenants);
  const remove = tenant
    .command("delete")
    .summary("delete a tenant and all its records")
    .description("Deletes a tenant and all its records. This cannot be undone.")
    .argument("<id>", "the tenant's id, as shown by tenant list", parseId)
    .option("--yes", "Delete without confirmation.")
    .action(deleteTenant);
  for (const command of [create, list, remove]) addApiOptions(command, "operatorKey");
}

async function createTenant(name: string, options: ApiOptions & { ownerEmail: string }): Promise<void> {
  const client = apiClient(options, "operatorKey");
  const body = { name, ownerEmail: options.ownerEmail };
  const made = await client.call((gatehouse) => gatehouse.post("/operator/tenants", { body }), isNewTenant);
  const { tenant, apiKey } = made;
  const lines = [
    `Created the tenant ${tenant.name}.`,
    "",
    `  Id       ${tenant.id}`,
    `  API key  ${apiKey.key}`,
    "",
    "Save the key now. It will not be shown again.",
  ];
  await shownOnce(
    options.json === true ? writeJson(made) : writeLines(lines),
    `It belongs to the key ${apiKey.id}, the tenant's only key. gatehouse tenant delete ${tenant.id} deletes both.`,
  );
}

async function listTenants(options: ApiOptions): Promise<void> {
  const client = apiClient(options, "operatorKey");
  const tenants: Tenant[] = [];
  const list = client.items((gatehouse) => gatehouse.list("/operator/tenants"), isTenant);
  for await (const tenant of list) tenants.push(tenant);
  if (options.json === true) return writeJson(tenants);
  const rows = tenants.map(({ id, name, ownerEmail, createdAt }) => [id, name, ownerEmail, createdAt]);
  await writeLines(rows.length === 0 ? ["No tenants."] : tableLines(["ID", "NAME", "OWNER", "CREATED"], rows));
}

async function deleteTenant(id: string, options: ApiOptions & { yes?: true }): Promise<void> {
  const client = apiClient(options, "operatorKey");
  if (options.yes !== true) await confirmDeletion(client, id);
  await client.call((gatehouse) => gatehouse.delete("/operator/tenants/{id}", { path: { id } }), isNothing);
  if (options.json === true) await writeJson({ deleted: id });
  else await writeLines([`Deleted the tenant ${id}.`]);
}

async function confirmDeletion(client: ApiClient, id: string): Promise<void> {
  if (process.stdin.isTTY !== true) {
    throw new CommandFailure("Deleting a tenant cannot be undone. Use --yes to confirm.", {
      exitCode: exitCodes.usage,
    });
  }
  const { name } = await client.call(
    (gatehouse) => gatehouse.get("/operator/tenants/{id}", { path: { id } }),
    isTenant,
  );
  const answer = await prompt(
    `This permanently deletes the tenant ${name} and all its records. Enter the tenant's name to confirm: `,
  );
  if (answer !== name) throw new CommandFailure("The name does not match. Nothing was deleted.");
}
