import { type Command, Option } from "commander";
import { ApiClient } from "../api-client.ts";
import { CommandFailure, exitCodes } from "../failure.ts";

/** The options of a command that calls the API. */
export interface ApiOptions {
  readonly url: string;
  readonly json?: true;
  readonly operatorKey?: string;
  readonly apiKey?: string;
}

type KeyOption = "operatorKey" | "apiKey";

const keyOptions = {
  operatorKey: { flag: "--operator-key", variable: "GATEHOUSE_OPERATOR_KEY", description: "The operator key." },
  apiKey: { flag: "--api-key", variable: "GATEHOUSE_API_KEY", description: "An API key of the tenant." },
} as const;

export function addApiOptions(command: Command, key: KeyOption): Command {
  const { flag, variable, description } = keyOptions[key];
  return command
    .addOption(
      new Option("--url <url>", "Base URL of the Gatehouse server.")
        .env("GATEHOUSE_URL")
        .default("http://127.0.0.1:8080"),
    )
    .addOption(new Option(`${flag} <key>`, description).env(variable))
    .option("--json", "Print JSON.");
}

/**
 * Creates a client from the options of a command.
 *
 * @throws CommandFailure if the key is missing or the URL is malformed
 */
export function apiClient(options: ApiOptions, key: KeyOption): ApiClient {
  const { flag, variable } = keyOptions[key];
  const value = options[key];
  if (value === undefined || value === "") {
    throw new CommandFailure(`The key is missing. Set ${flag} or ${variable}.`, { exitCode: exitCodes.usage });
  }
  if (!/^[\u0021-\u007e]+$/.test(value)) {
    throw new CommandFailure(`${flag} contains a space or another character that no key contains.`, {
      exitCode: exitCodes.usage,
    });
  }
  return new ApiClient(callableUrl(options.url), value);
}

/** Validates the URL. The error omits the URL if it can contain a secret. */
function callableUrl(text: string): string {
  const url = /^https?:\/\//.test(text) && URL.canParse(text) ? new URL(text) : undefined;
  if (/[@?#]/.test(text)) {
    const message = `--url (or GATEHOUSE_URL) must be a base URL such as http://127.0.0.1:8080, without user name, password, ? and #. Pass the key with its own option.`;
    throw new CommandFailure(message, { exitCode: exitCodes.usage });
  }
  if (url === undefined) {
    const message = `${JSON.stringify(text)} is not a valid --url. Use a URL such as http://127.0.0.1:8080.`;
    throw new CommandFailure(message, { exitCode: exitCodes.usage });
  }
  return url.href;
}
