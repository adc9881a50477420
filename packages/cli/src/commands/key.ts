import { type Permission, permissions, type RoleType, roleTypes } from "@gatehouse/contract/permissions";
import { type Command, Option } from "commander";
import { isApiKey, isArrayOf, isNewApiKey, isNothing } from "../answers.ts";
import { tableLines, writeJson, writeLines } from "../output.ts";
import { type ApiOptions, addApiOptions, apiClient } from "./api-options.ts";
import { parseId } from "./parse-id.ts";
import { shownOnce } from "./shown-once.ts";

interface CreateOptions extends ApiOptions {
  readonly permission?: readonly Permission[];
  readonly role?: RoleType;
  readonly expiresAt?: string;
  readonly sourceIp?: readonly string[];
}

export function addKeyCommands(program: Command): void {
  const key = program
    .command("key")
    .summary("make, list and revoke API keys of a tenant")
    .description("Make, list and revoke API keys of a tenant, with one of its keys.");

  const create = key
    .command("create")
    .summary("make an API key, and show it")
    .description("Makes an API key, and shows it, this once. It never grants more than the calling key holds.")
    .argument("<name>", "what the key is for")
    .addOption(new Option("--permission <permission...>", "What it may do.").choices([...permissions]))
    .addOption(new Option("--role <role>", "What it may do, as a role.").choices(roleTypes).conflicts("permission"))
    .option("--expires-at <time>", "When it stops working, such as 2030-01-31T12:00:00Z; absent: never.")
    .option("--source-ip <address...>", "Addresses and CIDRs that it may be used from; absent: any.")
    .action(createKey)
    .addHelpText(
      "after",
      `
Examples:
  gatehouse key create "Inventory" --permission resources:read gateways:read
  gatehouse key create "Audit" --role AUDITOR --source-ip 192.0.2.0/24`,
    );
  const list = key
    .command("list")
    .summary("list the tenant's API keys")
    .description("Lists the tenant's API keys, without their secrets.")
    .action(listKeys);
  const revoke = key
    .command("revoke")
    .summary("revoke an API key")
    .description("Revokes an API key. It stops working within a second.")
    .argument("<id>", "the key's id, as key list shows it", parseId)
    .action(revokeKey);
  for (const command of [create, list, revoke]) addApiOptions(command, "apiKey");
}

async function createKey(name: string, options: CreateOptions): Promise<void> {
  const { permission, role, expiresAt, sourceIp } = options;
  const body = {
    name,
    ...(permission === undefined ? {} : { permissions: permission }),
    ...(role === undefined ? {} : { role }),
    ...(expiresAt === undefined ? {} : { expiresAt }),
    ...(sourceIp === undefined ? {} : { sourceIps: sourceIp }),
  };
  const client = apiClient(options, "apiKey");
  const made = await client.ask((gatehouse) => gatehouse.post("/tenants/api-keys", { body }), isNewApiKey);
  const lines = [
    `Made the API key ${made.name}.`,
    "",
    `  Id       ${made.id}`,
    `  API key  ${made.key}`,
    "",
    "Keep it: it is shown this once.",
  ];
  await shownOnce(
    options.json === true ? writeJson(made) : writeLines(lines),
    `revoke the key with gatehouse key revoke ${made.id}.`,
  );
}

async function listKeys(options: ApiOptions): Promise<void> {
  const client = apiClient(options, "apiKey");
  const keys = await client.ask((gatehouse) => gatehouse.get("/tenants/api-keys"), isArrayOf(isApiKey));
  if (options.json === true) return writeJson(keys);
  const rows = keys.map((key) => [
    key.id,
    key.name,
    key.prefix,
    grantText(key.permissions),
    key.expiresAt ?? "never",
    key.lastUsedAt ?? "never",
  ]);
  await writeLines(tableLines(["ID", "NAME", "KEY", "PERMISSIONS", "EXPIRES", "LAST USED"], rows));
}

/** Short enough for a column; --json has them all. */
function grantText(granted: readonly string[]): string {
  if (granted.length === permissions.length) return "all";
  return granted.length <= 2 ? granted.join(" ") : `${granted.length} permissions`;
}

async function revokeKey(id: string, options: ApiOptions): Promise<void> {
  const client = apiClient(options, "apiKey");
  await client.ask((gatehouse) => gatehouse.delete("/tenants/api-keys/{id}", { path: { id } }), isNothing);
  if (options.json === true) await writeJson({ revoked: id });
  else await writeLines([`Revoked the API key ${id}.`]);
}
