import { flagOf, type SettingName, settings, variableOf } from "@gatehouse/server/config";
import { type Command, Option } from "commander";

/** Adds a flag to the command for each of these settings of the server. */
export function addSettingOptions(command: Command, names: readonly SettingName[]): Command {
  command.option("--config <file>", 'JSON file with settings by name, such as {"port": 8080} (GATEHOUSE_CONFIG)');
  for (const name of names) command.addOption(settingOption(name));
  return command.addHelpText(
    "after",
    `
Flags take precedence over environment variables, and these over the settings file. Set secrets in the environment
or in the file: other users of the machine can see flags in the process list.`,
  );
}

function settingOption(name: SettingName): Option {
  const { kind, description, secret } = settings[name];
  const flag = kind.placeholder === "" ? flagOf(name) : `${flagOf(name)} <${kind.placeholder}>`;
  const notes = [variableOf(name), secret ? ["secret"] : [], shownDefault(name)].flat();
  return new Option(flag, `${description} (${notes.join("; ")})`);
}

function shownDefault(name: SettingName): readonly string[] {
  const { default: fallback } = settings[name];
  if (fallback === undefined || fallback === false) return [];
  return [`default ${name === "dataDir" ? "./gatehouse-data" : String(fallback)}`];
}

/** The given flags by setting name, as the server reads them. */
export function givenFlags(options: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(Object.entries(options).map(([name, value]) => [name, String(value)]));
}
