import { flagOf, type SettingName, settings, variableOf } from "@gatehouse/server/config";
import { type Command, Option } from "commander";

/** Gives a command a flag for each of these settings of the server, made from the one table of them. */
export function addSettingOptions(command: Command, names: readonly SettingName[]): Command {
  command.option("--config <file>", 'JSON file with settings by name, such as {"port": 8080} (GATEHOUSE_CONFIG)');
  for (const name of names) command.addOption(settingOption(name));
  return command.addHelpText(
    "after",
    `
Flags go before environment variables, these before the settings file, that before defaults. Secrets are better given
in the environment or in the file: flags can be read in the machine's list of processes.`,
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

/** @returns the flags that were given, by the names of their settings, as the server reads them */
export function givenFlags(options: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(Object.entries(options).map(([name, value]) => [name, String(value)]));
}
