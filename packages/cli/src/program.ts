import { readFileSync } from "node:fs";
import { Command } from "commander";
import { addAccessCommands } from "./commands/access.ts";
import { addAuditCommands } from "./commands/audit.ts";
import { addChangeCommand } from "./commands/change.ts";
import { addConfigurationCommands } from "./commands/configuration.ts";
import { addDeviceCommands } from "./commands/device.ts";
import { addEventCommands } from "./commands/event.ts";
import { addKeyCommands } from "./commands/key.ts";
import { addMigrateCommand } from "./commands/migrate.ts";
import { addRotateCommands } from "./commands/rotate.ts";
import { addServeCommands } from "./commands/serve.ts";
import { addTenantCommands } from "./commands/tenant.ts";
import { writeError } from "./output.ts";

interface ProgramOptions {
  /** With JSON, the caller reports errors in the command line. */
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
    .showHelpAfterError("Run gatehouse --help for a list of commands.")
    .addHelpText(
      "after",
      `
Exit codes:
  0  success
  1  failure
  2  invalid command line or setting
  3  plan --detailed-exit-code found changes
  4  apply or change with --wait: applied, but not every gateway has confirmed the change

Examples:
  gatehouse serve                                   Serve on http://127.0.0.1:8080
  gatehouse demo                                    Serve with example records
  gatehouse tenant create "Example Ltd" --owner-email owner@example.com
  gatehouse key list --json
  gatehouse export --output gatehouse.yaml && gatehouse plan gatehouse.yaml
  gatehouse change --file changes.yaml --preview && gatehouse change --file changes.yaml
  gatehouse access explain --user ann@example.com --resource Git
  gatehouse device enrol --user ann@example.com && sudo gatehouse device run`,
    );
  addServeCommands(program);
  addMigrateCommand(program);
  addTenantCommands(program);
  addKeyCommands(program);
  addAuditCommands(program);
  addRotateCommands(program);
  addEventCommands(program);
  addConfigurationCommands(program);
  addChangeCommand(program);
  addAccessCommands(program);
  addDeviceCommands(program);
  return program;
}

function version(): string {
  const description: unknown = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
  const known = typeof description === "object" && description !== null && "version" in description;
  return known ? String(description.version) : "unknown";
}
