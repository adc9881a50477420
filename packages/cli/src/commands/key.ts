import { type Permission, permissions, type RoleType, roleTypes } from "@gatehouse/contract/permissions";
import { type Command, Option } from "commander";
import { tableLines, writeJson, writeLines } from "../output.ts";
import { isApiKey, isArrayOf, isNewApiKey, isNothing } from "../response-checks.ts";
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
    .summary("create, list and revoke API keys of a tenant")
    .description("Create, list and revoke API keys of a tenant.");

  const create = key
    .command("create")
    .summary("create an API key")
    .description("Creates an API key and shows it once. The key cannot grant more than the calling key holds.")
    .argument("<name>", "the key's name")
    .addOption(new Option("--permission <permission...>", "Permissions of the key.").choices([...permissions]))
    .addOption(
      new Option("--role <role>", "Role whose permissions the key gets.").choices(roleTypes).conflicts("permission"),
    )
    .option("--expires-at <time>", "Expiry of the key, such as 2030-01-31T12:00:00Z (default: never).")
    .option("--source-ip <address...>", "Addresses and CIDRs that the key can be used from (default: any).")
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
    .description("Revokes an API key. The key stops working within a second.")
    .argument("<id>", "the key's id, as shown by key list", parseId)
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
  const made = await client.call((gatehouse) => gatehouse.post("/tenants/api-keys", { body }), isNewApiKey);
  const lines = [
    `Created the API key ${made.name}.`,
    "",
    `  Id       ${made.id}`,
    `  API key  ${made.key}`,
    "",
    "Save the key now. It will not be shown again.",
  ];
  await shownOnce(
    options.json === true ? writeJson(made) : writeLines(lines),
    `Revoke the key with gatehouse key revoke ${made.id}.`,
  );
}

async function listKeys(options: ApiOptions): Promise<void> {
  const client = apiClient(options, "apiKey");
  const keys = await client.call((gatehouse) => gatehouse.get("/tenants/api-keys"), isArrayOf(isApiKey));
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

/** The permissions, short enough for a column; --json lists all of them. */
function grantText(granted: readonly string[]): string {
  if (granted.length === permissions.length) return "all";
  return granted.length <= 2 ? granted.join(" ") : `${granted.length} permissions`;
}

async function revokeKey(id: string, options: ApiOptions): Promise<void> {
  const client = apiClient(options, "apiKey");
  await client.call((gatehouse) => gatehouse.delete("/tenants/api-keys/{id}", { path: { id } }), isNothing);
  if (options.json === true) await writeJson({ revoked: id });
  else await writeLines([`Revoked the API key ${id}.`]);
}
