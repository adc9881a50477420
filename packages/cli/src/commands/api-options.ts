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
  operatorKey: { flag: "--operator-key", variable: "GATEHOUSE_OPERATOR_KEY", description: "The operator's key." },
  apiKey: { flag: "--api-key", variable: "GATEHOUSE_API_KEY", description: "An API key of the tenant." },
} as const;

export function addApiOptions(command: Command, key: KeyOption): Command {
  const { flag, variable, description } = keyOptions[key];
  return command
    .addOption(
      new Option("--url <url>", "Where Gatehouse serves.").env("GATEHOUSE_URL").default("http://127.0.0.1:8080"),
    )
    .addOption(new Option(`${flag} <key>`, description).env(variable))
    .option("--json", "Print JSON.");
}

/** @throws CommandFailure when there is no key, or no URL that can be called */
export function apiClient(options: ApiOptions, key: KeyOption): ApiClient {
  const { flag, variable } = keyOptions[key];
  const value = options[key];
  if (value === undefined || value === "") {
    throw new CommandFailure(`A key is needed: ${flag}, or ${variable}.`, { exitCode: exitCodes.usage });
  }
  if (!/^[\u0021-\u007e]+$/.test(value)) {
    throw new CommandFailure(`${flag} holds a space or a character that no key has.`, { exitCode: exitCodes.usage });
  }
  return new ApiClient(callableUrl(options.url), value);
}

/** What is wrong is said without the URL where that may hold a secret. */
function callableUrl(text: string): string {
  const url = /^https?:\/\//.test(text) && URL.canParse(text) ? new URL(text) : undefined;
  if (/[@?#]/.test(text)) {
    const message = `--url (or GATEHOUSE_URL) must be an address alone, such as http://127.0.0.1:8080: without user name, password, ? and #. The key goes into an option of its own.`;
    throw new CommandFailure(message, { exitCode: exitCodes.usage });
  }
  if (url === undefined) {
    const message = `--url must be a URL such as http://127.0.0.1:8080; it is ${JSON.stringify(text)}.`;
    throw new CommandFailure(message, { exitCode: exitCodes.usage });
  }
  return url.href;
}
