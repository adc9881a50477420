import type { PastAccess } from "@gatehouse/contract/records/past-access";
import type { Command } from "commander";
import { CommandFailure, exitCodes } from "../failure.ts";
import { tableLines, writeJson, writeLines } from "../output.ts";
import { isPastAccess } from "../response-checks.ts";
import { type ApiOptions, addApiOptions, apiClient } from "./api-options.ts";

interface PastOptions extends ApiOptions {
  readonly user?: string;
  readonly device?: string;
  readonly resource?: string;
  readonly from?: string;
  readonly country?: string;
}

export function addPastAccessCommand(access: Command): void {
  const past = access
    .command("at")
    .description("Lists who had access to what at a point in time, and by which policy, from the recorded history.")
    .argument("<time>", "the point in time, such as 2026-03-04T10:00Z")
    .option("--user <user>", "Id or email address of the user, as it was then.")
    .option("--device <id>", "Id of the device.")
    .option("--resource <resource>", "Id or name of the resource, as it was then.")
    .option("--from <address>", "Source IP address of the requests.")
    .option("--country <code>", "Source country of the requests, such as DE.")
    .action(listPastAccess);
  addApiOptions(past, "apiKey");
}

async function listPastAccess(at: string, options: PastOptions): Promise<void> {
  const { user, device, resource, from: sourceIp, country } = options;
  if (user === undefined && device === undefined && resource === undefined) {
    throw new CommandFailure("The subject or the resource is missing. Use --user, --device or --resource.", {
      exitCode: exitCodes.usage,
    });
  }
  const asked = { at, user, device, resource, sourceIp, country };
  const given = Object.entries(asked).filter(([, value]) => value !== undefined);
  const query = Object.fromEntries(given) as Record<string, string>; // undefined values were removed
  const found: PastAccess[] = [];
  const client = apiClient(options, "apiKey");
  const items = client.items((gatehouse) => gatehouse.list("/tenants/access", { query }), isPastAccess);
  for await (const item of items) found.push(item);
  if (options.json === true) return writeJson(found);
  if (found.length === 0) return writeLines(["No results."]);
  const rows = found.map((one) => [
    one.user.name,
    one.device?.name ?? "",
    one.resource.name,
    one.policy.name,
    one.mode ?? formatGateways(one),
  ]);
  return writeLines(tableLines(["USER", "DEVICE", "RESOURCE", "POLICY", "THROUGH"], rows));
}

function formatGateways({ gateways, balanced }: PastAccess): string {
  const names = gateways.map(({ name }) => name).join(", ");
  return balanced ? `${names} (balanced)` : names;
}
