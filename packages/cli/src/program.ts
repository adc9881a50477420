import type { Command } from "commander";
import { addAccessCommands } from "./commands/access.ts";
import { addAuditCommands } from "./commands/audit.ts";
import { addChangeCommand } from "./commands/change.ts";
import { addConfigurationCommands } from "./commands/configuration.ts";
import { addContextCommands } from "./commands/context.ts";
import { addDeviceCommands } from "./commands/device.ts";
import { addDeviceSessionCommands } from "./commands/device-session.ts";
import { addDoctorCommand } from "./commands/doctor.ts";
import { addDomainCommands } from "./commands/domain.ts";
import { addEnrolmentKeyCommands } from "./commands/enrolment-key.ts";
import { addEventCommands } from "./commands/event.ts";
import { addIdentityProviderCommands } from "./commands/identity-provider.ts";
import { addKeyCommands } from "./commands/key.ts";
import { addLoginCommands } from "./commands/login.ts";
import { addMigrateCommand } from "./commands/migrate.ts";
import { addResetKeyCommand } from "./commands/reset-key.ts";
import { addRotateCommands } from "./commands/rotate.ts";
import { addServeCommands } from "./commands/serve.ts";
import { addSettingsCommands } from "./commands/settings.ts";
import { addTenantCommands } from "./commands/tenant.ts";
import { addUserCommands } from "./commands/user.ts";
import { emptyProgram, type ProgramOptions } from "./empty-program.ts";

/** The `gatehouse` command. */
export function createProgram(options: ProgramOptions): Command {
  const program = emptyProgram("gatehouse", options)
    .description("The control plane of a Zero Trust network.")
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
  gatehouse login --url https://gatehouse.example.com
  gatehouse key list --json
  gatehouse export --output gatehouse.yaml && gatehouse plan gatehouse.yaml
  gatehouse change --file changes.yaml --preview && gatehouse change --file changes.yaml
  gatehouse access explain --user ann@example.com --resource Git
  gatehouse device enrol --user ann@example.com && sudo gatehouse device run`,
    );
  addServeCommands(program);
  addDoctorCommand(program);
  addMigrateCommand(program);
  addLoginCommands(program);
  addContextCommands(program);
  addTenantCommands(program);
  addKeyCommands(program);
  addEnrolmentKeyCommands(program);
  addIdentityProviderCommands(program);
  addDomainCommands(program);
  addAuditCommands(program);
  addRotateCommands(program);
  addResetKeyCommand(program);
  addEventCommands(program);
  addConfigurationCommands(program);
  addSettingsCommands(program);
  addChangeCommand(program);
  addAccessCommands(program);
  addDeviceCommands(program);
  addDeviceSessionCommands(program);
  addUserCommands(program);
  return program;
}
