import { Argument, type Command } from "commander";
import { CommandFailure } from "../failure.ts";
import { writeJson, writeLines } from "../output.ts";
import { isKeyReset } from "../response-checks.ts";
import { type ApiOptions, addApiOptions, apiClient } from "./api-options.ts";
import { parseId } from "./parse-id.ts";
import { prompt } from "./prompt.ts";

interface ResetKeyOptions extends ApiOptions {
  readonly yes?: true;
}

const paths = {
  gateway: "/tenants/gateways/{id}/reset-key",
  device: "/tenants/devices/{id}/reset-key",
} as const;

export function addResetKeyCommand(program: Command): void {
  const command = program
    .command("reset-key")
    .summary("let a gateway or device connect with another WireGuard key")
    .description(
      "Allows the agent of a gateway or device to connect once with another WireGuard key, within 24 hours. The agent need not prove the current key. Use it after a machine was set up again. If others may know the agent's token, rotate the token first. For a gateway, use graceSeconds 0.",
    )
    .addArgument(new Argument("<kind>", "the kind of the agent").choices(Object.keys(paths)))
    .argument("<id>", "the id of the gateway or device", parseId)
    .option("--yes", "Reset without confirmation.")
    .action(resetKey)
    .addHelpText(
      "after",
      `
Permissions: gateways:write for a gateway, devices:write for a device.

Examples:
  gatehouse reset-key gateway 01980000-0000-7000-8000-000000000001
  gatehouse reset-key device 01980000-0000-7000-8000-000000000002 --yes`,
    );
  addApiOptions(command, "apiKey");
}

async function resetKey(kind: keyof typeof paths, id: string, options: ResetKeyOptions): Promise<void> {
  const client = apiClient(options, "apiKey");
  const question = `Allow the ${kind} ${id} to replace its key? Enter yes to confirm: `;
  if (options.yes !== true && (await prompt(question)) !== "yes") {
    throw new CommandFailure("Cancelled. Nothing was changed.");
  }
  const record = await client.call((gatehouse) => gatehouse.post(paths[kind], { path: { id } }), isKeyReset);
  if (options.json === true) return writeJson(record);
  return writeLines([`The ${kind} ${record.name} may connect with another key until ${record.keyResetUntil}.`]);
}
