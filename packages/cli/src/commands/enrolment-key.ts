import type { EnrolmentKey } from "@gatehouse/contract/records/enrolment-key";
import { type Command, InvalidArgumentError } from "commander";
import { tableLines, writeJson, writeLines } from "../output.ts";
import { isArrayOf, isEnrolmentKey, isNewEnrolmentKey } from "../response-checks.ts";
import { type ApiOptions, addApiOptions, apiClient } from "./api-options.ts";
import { userOf } from "./device-enrolment.ts";
import { parseId } from "./parse-id.ts";
import { shownOnce } from "./shown-once.ts";

interface CreateOptions extends ApiOptions {
  readonly user: string;
  readonly maxUses?: number;
  readonly expiresAt?: string;
  readonly tag?: readonly string[];
}

export function addEnrolmentKeyCommands(program: Command): void {
  const key = program
    .command("enrolment-key")
    .summary("manage the keys with which servers are enrolled")
    .description("Create, list and revoke the keys with which servers are enrolled as devices, without a person.");
  const create = key
    .command("create")
    .summary("create an enrolment key")
    .description(
      "Creates an enrolment key and shows it once. Servers that present the key become devices of its user, with its tags.",
    )
    .argument("<name>", "the key's name")
    .requiredOption("--user <user>", "Id or email address of the user that the devices belong to.")
    .option("--max-uses <number>", "Number of devices that the key can enrol (default: 1).", parseUses)
    .option("--expires-at <time>", "Expiry of the key, such as 2030-01-31T12:00:00Z (default: in 30 days).")
    .option("--tag <tag...>", "Tags of the devices, which admission rules read as device.tags.")
    .action(createEnrolmentKey)
    .addHelpText(
      "after",
      `
Permissions: devices:write, and users:read for an email address.

Examples:
  gatehouse enrolment-key create "Build servers" --user servers@example.com --max-uses 10 --tag build
  gatehouse enrolment-key create "Proxy" --user servers@example.com --expires-at 2030-01-31T12:00:00Z`,
    );
  const list = key
    .command("list")
    .summary("list the tenant's enrolment keys")
    .description("Lists the tenant's enrolment keys, without their secrets.")
    .action(listEnrolmentKeys);
  const revoke = key
    .command("revoke")
    .summary("revoke an enrolment key")
    .description("Revokes an enrolment key. Devices that it has enrolled stay enrolled.")
    .argument("<id>", "the key's id, as shown by enrolment-key list", parseId)
    .action(revokeEnrolmentKey);
  for (const command of [create, list, revoke]) addApiOptions(command, "apiKey");
}

async function createEnrolmentKey(name: string, options: CreateOptions): Promise<void> {
  const { user, maxUses, expiresAt, tag } = options;
  const client = apiClient(options, "apiKey");
  const { id: userId } = await userOf(client, user);
  const body = {
    name,
    userId,
    ...(maxUses === undefined ? {} : { maxUses }),
    ...(expiresAt === undefined ? {} : { expiresAt }),
    ...(tag === undefined ? {} : { tags: [...tag] }),
  };
  const made = await client.call((gatehouse) => gatehouse.post("/tenants/enrolment-keys", { body }), isNewEnrolmentKey);
  const lines = [
    `Created the enrolment key ${made.name}.`,
    "",
    `  Id             ${made.id}`,
    `  Devices of     ${made.user.email}`,
    `  Uses           ${made.maxUses}`,
    `  Expires        ${made.expiresAt}`,
    `  Enrolment key  ${made.key}`,
    "",
    "Save the key now. It will not be shown again.",
    "On the machine to enrol, run sudo gatehouse-device enrol --url URL --key-file FILE.",
  ];
  await shownOnce(
    options.json === true ? writeJson(made) : writeLines(lines),
    `Revoke the key with gatehouse enrolment-key revoke ${made.id}.`,
  );
}

async function listEnrolmentKeys(options: ApiOptions): Promise<void> {
  const client = apiClient(options, "apiKey");
  const keys = await client.call((gatehouse) => gatehouse.get("/tenants/enrolment-keys"), isArrayOf(isEnrolmentKey));
  if (options.json === true) return writeJson(keys);
  await writeLines(tableLines(["ID", "NAME", "KEY", "STATUS", "USES", "USER", "TAGS", "EXPIRES"], keys.map(rowOf)));
}

function rowOf({ id, name, prefix, status, uses, maxUses, user, tags, expiresAt }: EnrolmentKey): string[] {
  return [id, name, prefix, status, `${uses}/${maxUses}`, user.email, tags.join(" "), expiresAt];
}

async function revokeEnrolmentKey(id: string, options: ApiOptions): Promise<void> {
  const revoked = await apiClient(options, "apiKey").call(
    (gatehouse) => gatehouse.post("/tenants/enrolment-keys/{id}/revoke", { path: { id } }),
    isEnrolmentKey,
  );
  if (options.json === true) return writeJson(revoked);
  await writeLines([`Revoked the enrolment key ${revoked.name}. Devices that it has enrolled stay enrolled.`]);
}

function parseUses(text: string): number {
  if (/^[1-9]\d{0,4}$/.test(text) && Number(text) <= 10_000) return Number(text);
  throw new InvalidArgumentError("Use a number from 1 to 10000.");
}
