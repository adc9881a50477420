import { readConfig, type SettingName } from "@gatehouse/server/config";
import { createLog } from "@gatehouse/server/platform/log";
import type { MasterKeyRotation } from "@gatehouse/server/rotate-keys";
import type { Command } from "commander";
import { CommandExit, exitCodes } from "../failure.ts";
import { writeJson, writeLines } from "../output.ts";
import { type ApiOptions, addApiOptions, apiClient } from "./api-options.ts";
import { addSettingOptions, givenFlags } from "./setting-options.ts";

interface RotateOptions {
  readonly status?: true;
  readonly json?: true;
}

const keySettings: readonly SettingName[] = ["dataDir", "databaseUrl", "masterKey", "secondMasterKey", "logLevel"];

const masterKeyLines = {
  prepared: [
    "Wrote a new master key, and kept the previous one beside it (master-key.second).",
    "Restart Gatehouse. It re-encrypts the stored secrets in the background, then deletes the previous key.",
  ],
  requested: [
    "Servers with the current key re-encrypt the stored secrets in the background.",
    "Keep GATEHOUSE_SECOND_MASTER_KEY until gatehouse rotate master-key --status says that the rotation is complete.",
  ],
  "not-requested": [
    "No re-encryption with the current key was requested.",
    "When all servers have the same values of both keys, run gatehouse rotate master-key.",
  ],
  "in-progress": ["The rotation of the master key is in progress: some secrets need the second key."],
  complete: ["Everything is encrypted with the current master key."],
  unreadable: [
    "Some secrets are encrypted with a master key that is not configured.",
    "Set GATEHOUSE_SECOND_MASTER_KEY to that key on all servers, restart them, and run gatehouse rotate master-key.",
  ],
} as const;

export function addRotateCommands(program: Command): void {
  const rotate = program
    .command("rotate")
    .summary("rotate the keys of the installation or of a tenant")
    .description("Rotate the keys of the installation or of a tenant.");
  addMasterKey(rotate);
  addAuditKey(rotate);
  addSigningKey(rotate);
}

function addMasterKey(rotate: Command): void {
  const command = rotate
    .command("master-key")
    .summary("replace the key that encrypts stored secrets")
    .description(
      "Begins the rotation of the master key, on the machine of the server. In a data folder, generates the new key; restart the server afterwards. With a database URL, configure both keys on all servers first: the new one as GATEHOUSE_MASTER_KEY, the previous one as GATEHOUSE_SECOND_MASTER_KEY. The servers re-encrypt stored secrets in the background, and continue after an interruption.",
    )
    .option("--status", "Only show whether everything is encrypted with the current key.")
    .option("--json", "Print JSON.")
    .action(async ({ status, json, ...flags }: RotateOptions) => {
      const config = readConfig({ flags: givenFlags(flags), environment: process.env });
      const { masterKeyRotationState, rotateMasterKey } = await import("@gatehouse/server/rotate-keys");
      const log = createLog(config.logLevel);
      const rotation = await (status === true ? masterKeyRotationState(config, log) : rotateMasterKey(config, log));
      await (json === true ? writeJson(rotation) : writeLines(rotationLines(rotation)));
      if (rotation.state === "unreadable") throw new CommandExit(exitCodes.failed);
    });
  addSettingOptions(command, keySettings);
}

function rotationLines({ state, secrets, otherServers }: MasterKeyRotation): string[] {
  const lines: string[] = [...masterKeyLines[state]];
  if (secrets !== undefined) {
    const tables = Object.entries(secrets.unreadableTables).map(([table, count]) => `${table}: ${count}`);
    const where = tables.length === 0 ? "" : ` (${tables.join(", ")})`;
    lines.push(
      "",
      `  Secrets under the current key  ${secrets.current}`,
      `  Secrets under the second key   ${secrets.second}`,
      `  Secrets under neither          ${secrets.unreadable}${where}`,
    );
  }
  if (secrets !== undefined && secrets.behind.length > 0) {
    lines.push("", "Tenants with the most secrets under the second key:", "");
    for (const { tenantId, secrets: count } of secrets.behind) lines.push(`  ${tenantId}  ${count}`);
  }
  if (otherServers !== undefined) lines.push("", `Servers that encrypt with another master key: ${otherServers}`);
  return lines;
}

function addAuditKey(rotate: Command): void {
  const command = rotate
    .command("audit-key")
    .summary("replace the key that signs the audit records")
    .description(
      "Generates a new key for the signatures of the audit records, on the machine of the server. The current key signs the new one, and the new one the current one: each public key verifies the signatures of both. Running servers use the new key within a checkpoint interval.",
    )
    .option("--json", "Print JSON.")
    .action(async ({ json, ...flags }: RotateOptions) => {
      const config = readConfig({ flags: givenFlags(flags), environment: process.env });
      const { rotateAuditKey } = await import("@gatehouse/server/rotate-keys");
      const rotated = await rotateAuditKey(config, createLog(config.logLevel));
      if (json === true) return writeJson(rotated);
      return writeLines([
        "Rotated the key that signs the audit records.",
        "",
        `  Previous public key  ${rotated.from}`,
        `  Public key           ${rotated.to}`,
      ]);
    });
  addSettingOptions(command, keySettings);
}

function addSigningKey(rotate: Command): void {
  const command = rotate
    .command("signing-key")
    .summary("replace the key that signs a tenant's configurations")
    .description(
      "Generates a new key for the configurations of the tenant's gateways and devices. The current key signs the new one, so that agents follow by themselves.",
    )
    .action(async (options: ApiOptions) => {
      const client = apiClient(options, "apiKey");
      const key = await client.call((gatehouse) => gatehouse.post("/tenants/signing-key/rotate"), isPublicKey);
      if (options.json === true) return writeJson(key);
      return writeLines(["Rotated the signing key.", "", `  Public key  ${key.publicKey}`]);
    });
  addApiOptions(command, "apiKey");
}

function isPublicKey(value: unknown): value is { readonly publicKey: string } {
  return typeof value === "object" && value !== null && "publicKey" in value && typeof value.publicKey === "string";
}
