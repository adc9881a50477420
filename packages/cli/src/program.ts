import { readFileSync } from "node:fs";
import { Command } from "commander";
import { addAccessCommands } from "./commands/access.ts";
import { addAuditCommands } from "./commands/audit.ts";
import { addConfigurationCommands } from "./commands/configuration.ts";
import { addDeviceCommands } from "./commands/device.ts";
import { addKeyCommands } from "./commands/key.ts";
import { addMigrateCommand } from "./commands/migrate.ts";
import { addServeCommands } from "./commands/serve.ts";
import { addTenantCommands } from "./commands/tenant.ts";
import { writeError } from "./output.ts";

interface ProgramOptions {
  /** With JSON, what is wrong with the command line is left to the caller to say. */
  readonly json: boolean;
  writeHelp(text: string): void;
}

export function createProgram({ json, writeHelp }: ProgramOptions): Command {
  const program = new Command("gatehouse")
    .configureOutput({ writeOut: writeHelp, writeErr: json ? () => {} : writeError }) // subcommands inherit it
    .description("The control plane of a Zero Trust network.")
    .version(version(), "--version", "Show the version.")
    .helpOption("--help", "Show help.")
    .exitOverride()
    .showHelpAfterError("(gatehouse --help shows what there is)")
    .addHelpText(
      "after",
      `
Exit codes: 0 done, 1 failed, 2 the command line or a setting is wrong, 3 plan --detailed-exit-code found changes.

Examples:
  gatehouse serve                                   serve on http://127.0.0.1:8080
  gatehouse demo                                    the same, with example records
  gatehouse tenant create "Example Ltd" --owner-email owner@example.com
  gatehouse key list --json
  gatehouse export --output gatehouse.yaml && gatehouse plan gatehouse.yaml
  gatehouse access explain --user ann@example.com --resource Git
  gatehouse device enrol --user ann@example.com && sudo gatehouse device run`,
    );
  addServeCommands(program);
  addMigrateCommand(program);
  addTenantCommands(program);
  addKeyCommands(program);
  addAuditCommands(program);
  addConfigurationCommands(program);
  addAccessCommands(program);
  addDeviceCommands(program);
  return program;
}

function version(): string {
  const description: unknown = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
  const known = typeof description === "object" && description !== null && "version" in description;
  return known ? String(description.version) : "unknown";
}
