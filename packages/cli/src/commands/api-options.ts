import { type Command, Option } from "commander";
import { ApiClient } from "../api-client.ts";
import { CommandFailure, exitCodes } from "../failure.ts";
import { findContext, type SignedInContext, StoredSession } from "../sign-in/sign-in.ts";

/** The options of a command that calls the API. */
export interface ApiOptions {
  /** Undefined for the server of the context. */
  readonly url?: string;
  /** The name of a context, which `login` made. */
  readonly context?: string;
  readonly json?: true;
  readonly operatorKey?: string;
  readonly apiKey?: string;
}

/** The server that commands call without a context and without an address. */
export const defaultUrl = "http://127.0.0.1:8080";

type KeyOption = "operatorKey" | "apiKey";

const keyOptions = {
  operatorKey: { flag: "--operator-key", variable: "GATEHOUSE_OPERATOR_KEY", description: "The operator key." },
  apiKey: { flag: "--api-key", variable: "GATEHOUSE_API_KEY", description: "An API key of the tenant." },
} as const;

export function addApiOptions(command: Command, key: KeyOption): Command {
  const { flag, variable, description } = keyOptions[key];
  const isPersonal = key === "apiKey";
  const where = isPersonal ? `the context's server, or ${defaultUrl}` : defaultUrl;
  command
    .addOption(new Option("--url <url>", `Base URL of the Gatehouse server (default: ${where}).`).env("GATEHOUSE_URL"))
    .addOption(
      new Option(`${flag} <key>`, isPersonal ? `${description} Not needed after gatehouse login.` : description).env(
        variable,
      ),
    );
  if (isPersonal) {
    command.addOption(
      new Option("--context <name>", "Context to use (default: the current one).").env("GATEHOUSE_CONTEXT"),
    );
  }
  return command.option("--json", "Print JSON.");
}

/** The address of the server that a command calls. */
export function urlOf(options: ApiOptions): string {
  return contextFor(options)?.context.url ?? options.url ?? defaultUrl;
}

/** The context that a command uses; undefined with an API key, or if there is none. */
function contextFor({ url, context, apiKey }: ApiOptions): SignedInContext | undefined {
  if (apiKey !== undefined && apiKey !== "") return undefined;
  const found = findContext({ name: context, url });
  if (
    found !== undefined &&
    url !== undefined &&
    found.context.url !== (URL.canParse(url) ? new URL(url).origin : url)
  ) {
    throw new CommandFailure(`The context ${found.name} is for ${found.context.url}, not for ${url}.`, {
      exitCode: exitCodes.usage,
    });
  }
  return found;
}

/**
 * Creates a client from the options of a command.
 *
 * @throws CommandFailure if the key is missing or the URL is malformed
 */
export function apiClient(options: ApiOptions, key: KeyOption): ApiClient {
  const { flag, variable } = keyOptions[key];
  const value = options[key];
  const signedIn = key === "apiKey" ? contextFor(options) : undefined;
  if (signedIn !== undefined) return new ApiClient(signedIn.context.url, new StoredSession(signedIn));
  if (value === undefined || value === "") {
    const remedy =
      key === "apiKey" ? `Run gatehouse login, or set ${flag} or ${variable}.` : `Set ${flag} or ${variable}.`;
    throw new CommandFailure(`The key is missing. ${remedy}`, { exitCode: exitCodes.usage });
  }
  if (!/^[\u0021-\u007e]+$/.test(value)) {
    throw new CommandFailure(`${flag} (or ${variable}) contains a space or another character that no key contains.`, {
      exitCode: exitCodes.usage,
    });
  }
  return new ApiClient(callableUrl(options.url ?? defaultUrl), value);
}

/** Validates the URL. The error omits the URL if it can contain a secret. */
export function callableUrl(text: string): string {
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
