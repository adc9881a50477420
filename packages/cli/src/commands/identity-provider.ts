import { readFileSync } from "node:fs";
import { type FirstSignIn, firstSignIns, type IdentityProvider } from "@gatehouse/contract/records/identity-provider";
import {
  type ProviderPresetName,
  providerPresetNames,
  providerPresets,
  unfilledPlaceholder,
} from "@gatehouse/contract/records/provider-presets";
import { type Command, Option } from "commander";
import { CommandFailure, exitCodes } from "../failure.ts";
import { tableLines, writeJson, writeLines } from "../output.ts";
import { isArrayOf, isIdentityProvider, isNothing, isProviderTest } from "../response-checks.ts";
import { type ApiOptions, addApiOptions, apiClient } from "./api-options.ts";
import { parseId } from "./parse-id.ts";

const path = "/tenants/identity-providers/{id}";

type PatchBody = Partial<Pick<IdentityProvider, "name" | "enabled" | "linkVerifiedEmail">>;

interface SettingOptions extends ApiOptions {
  readonly issuer?: string;
  readonly clientId?: string;
  readonly clientSecretFile?: string;
  readonly scope?: readonly string[];
  readonly groupsClaim?: string;
  readonly firstSignIn?: FirstSignIn;
}

interface CreateOptions extends SettingOptions {
  readonly preset?: ProviderPresetName;
  readonly clientId: string;
  readonly linkVerifiedEmail?: true;
}

interface UpdateOptions extends SettingOptions {
  readonly name?: string;
  readonly linkVerifiedEmail?: "on" | "off";
}

export function addIdentityProviderCommands(program: Command): void {
  const provider = program
    .command("identity-provider")
    .summary("manage the OpenID Connect providers of a tenant")
    .description("Manage the OpenID Connect providers with which people sign in.");
  const list = provider
    .command("list")
    .summary("list identity providers")
    .description("Lists the identity providers, without their secrets.")
    .action(listProviders);
  const show = provider
    .command("show")
    .summary("show an identity provider")
    .description("Shows the settings of an identity provider, and the redirect URI to register.")
    .argument("<id>", "the provider's id, as shown by identity-provider list", parseId)
    .action(showProvider);
  const create = withSettings(provider.command("create"))
    .summary("add an identity provider")
    .description("Adds a provider, which is disabled until a test sign-in has succeeded.")
    .argument("<name>", "the provider's name, as people see it")
    .addOption(
      new Option("--preset <preset>", "Scopes and claims of a common provider.").choices([...providerPresetNames]),
    )
    .requiredOption("--client-id <id>", "Id of the client at the provider.")
    .option("--link-verified-email", "Link accounts to existing users with the same verified email address.")
    .action(createProvider)
    .addHelpText(
      "after",
      `
The client secret is read from a file, because other users of the machine can see flags in the process list.

Examples:
  gatehouse identity-provider create Okta --preset okta --issuer https://example.okta.com \\
    --client-id 0oa1 --client-secret-file secret.txt --first-sign-in INVITED
  gatehouse identity-provider create Google --preset google --client-id ID --client-secret-file - < secret.txt`,
    );
  const update = withSettings(provider.command("update"))
    .summary("change an identity provider")
    .description("Changes the given settings. Others stay unchanged.")
    .argument("<id>", "the provider's id, as shown by identity-provider list", parseId)
    .option("--name <name>", "The provider's name.")
    .option("--client-id <id>", "Id of the client at the provider.")
    .addOption(
      new Option(
        "--link-verified-email <switch>",
        "Whether to link accounts to existing users with the same verified email address.",
      ).choices(["on", "off"]),
    )
    .action(updateProvider);
  const commands = [
    provider
      .command("test")
      .summary("start a test sign-in")
      .description("Prints the address of a test sign-in, which signs nobody in. Open it in a browser.")
      .action(testProvider),
    provider
      .command("enable")
      .summary("let people sign in with a provider")
      .description("Lets people sign in with a provider whose test sign-in has succeeded.")
      .action((id: string, options: ApiOptions) => switchProvider(id, options, true)),
    provider
      .command("disable")
      .summary("stop sign-ins with a provider")
      .description("Refuses new sign-ins with a provider. Sessions continue.")
      .action((id: string, options: ApiOptions) => switchProvider(id, options, false)),
    provider
      .command("delete")
      .summary("delete an identity provider")
      .description("Deletes a provider, unlinks its accounts, and ends the sessions that it began.")
      .action(deleteProvider),
  ];
  for (const command of commands) {
    command.argument("<id>", "the provider's id, as shown by identity-provider list", parseId);
  }
  for (const command of [list, show, create, update, ...commands]) addApiOptions(command, "apiKey");
}

function withSettings(command: Command): Command {
  return command
    .option("--issuer <url>", "Issuer, exactly as the provider's metadata states it.")
    .option("--client-secret-file <file>", "File with the client secret, or - for standard input.")
    .option("--scope <scope...>", "Scopes in addition to openid.")
    .option("--groups-claim <claim>", "Claim with the names of a person's groups.")
    .addOption(
      new Option("--first-sign-in <who>", "Who can sign in with an account that belongs to no user yet.").choices([
        ...firstSignIns,
      ]),
    );
}

async function listProviders(options: ApiOptions): Promise<void> {
  const client = apiClient(options, "apiKey");
  const providers = await client.call(
    (gatehouse) => gatehouse.get("/tenants/identity-providers"),
    isArrayOf(isIdentityProvider),
  );
  if (options.json === true) return writeJson(providers);
  const rows = providers.map(({ id, name, issuer, enabled, testedAt }) => [
    id,
    name,
    issuer,
    enabled ? "yes" : "no",
    testedAt ?? "never",
  ]);
  await writeLines(
    rows.length === 0 ? ["No identity providers."] : tableLines(["ID", "NAME", "ISSUER", "ENABLED", "TESTED"], rows),
  );
}

async function showProvider(id: string, options: ApiOptions): Promise<void> {
  const client = apiClient(options, "apiKey");
  const found = await client.call((gatehouse) => gatehouse.get(path, { path: { id } }), isIdentityProvider);
  await writeProvider(found, options);
}

async function createProvider(name: string, options: CreateOptions): Promise<void> {
  const preset = options.preset === undefined ? undefined : providerPresets[options.preset];
  const issuer = options.issuer ?? preset?.issuer;
  if (issuer === undefined) {
    throw new CommandFailure("The issuer is missing. Use --issuer.", { exitCode: exitCodes.usage });
  }
  const placeholder = unfilledPlaceholder(issuer);
  if (placeholder !== undefined) {
    throw new CommandFailure(`Use --issuer with your own value for ${placeholder}, such as ${issuer}.`, {
      exitCode: exitCodes.usage,
    });
  }
  const { scopes, groupsClaim } = preset ?? {};
  const body = {
    ...(scopes === undefined ? {} : { scopes: [...scopes] }),
    ...(groupsClaim === undefined ? {} : { groupsClaim }),
    ...givenSettings(options),
    name,
    issuer,
    clientId: options.clientId,
    ...(options.linkVerifiedEmail === true ? { linkVerifiedEmail: true } : {}),
  };
  const client = apiClient(options, "apiKey");
  const made = await client.call(
    (gatehouse) => gatehouse.post("/tenants/identity-providers", { body }),
    isIdentityProvider,
  );
  await writeProvider(made, options, [
    `Created the identity provider ${made.name}. Register the redirect URI at the provider, then run`,
    `gatehouse identity-provider test ${made.id}`,
    "",
  ]);
}

async function updateProvider(id: string, options: UpdateOptions): Promise<void> {
  const { name, linkVerifiedEmail: link } = options;
  const body = {
    ...givenSettings(options),
    ...(name === undefined ? {} : { name }),
    ...(link === undefined ? {} : { linkVerifiedEmail: link === "on" }),
  };
  if (Object.keys(body).length === 0) {
    throw new CommandFailure("No setting is given. See gatehouse identity-provider update --help.", {
      exitCode: exitCodes.usage,
    });
  }
  await patchProvider(id, body, options);
}

async function switchProvider(id: string, options: ApiOptions, enabled: boolean): Promise<void> {
  await patchProvider(id, { enabled }, options);
}

async function patchProvider(id: string, body: PatchBody, options: ApiOptions): Promise<void> {
  const client = apiClient(options, "apiKey");
  const updated = await client.call((gatehouse) => gatehouse.patch(path, { path: { id }, body }), isIdentityProvider);
  await writeProvider(updated, options);
}

async function testProvider(id: string, options: ApiOptions): Promise<void> {
  const client = apiClient(options, "apiKey");
  const test = await client.call(
    (gatehouse) => gatehouse.post("/tenants/identity-providers/{id}/test", { path: { id } }),
    isProviderTest,
  );
  const lines = [
    "Open this address in a browser within 10 minutes, and sign in at the provider:",
    "",
    `  ${test.url}`,
    "",
    `Once the test has succeeded, run gatehouse identity-provider enable ${id}`,
  ];
  await (options.json === true ? writeJson(test) : writeLines(lines));
}

async function deleteProvider(id: string, options: ApiOptions): Promise<void> {
  const client = apiClient(options, "apiKey");
  await client.call((gatehouse) => gatehouse.delete(path, { path: { id } }), isNothing);
  await (options.json === true ? writeJson({ deleted: id }) : writeLines([`Deleted the identity provider ${id}.`]));
}

function givenSettings(options: SettingOptions): object {
  const { issuer, clientId, clientSecretFile: file, scope: scopes, groupsClaim, firstSignIn } = options;
  const settings = { issuer, clientId, scopes, groupsClaim, firstSignIn };
  const given = Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined));
  return file === undefined ? given : { ...given, clientSecret: readSecret(file) };
}

/** @throws CommandFailure if the file is not readable, or empty */
function readSecret(file: string): string {
  let secret: string;
  try {
    secret = readFileSync(file === "-" ? 0 : file, "utf8").replace(/\r?\n$/, "");
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new CommandFailure(`The client secret could not be read: ${reason}.`, { exitCode: exitCodes.usage });
  }
  if (secret === "") throw new CommandFailure(`The client secret is empty.`, { exitCode: exitCodes.usage });
  return secret;
}

async function writeProvider(
  provider: IdentityProvider,
  options: ApiOptions,
  introduction: readonly string[] = [],
): Promise<void> {
  if (options.json === true) return writeJson(provider);
  await writeLines([
    ...introduction,
    `Id            ${provider.id}`,
    `Name          ${provider.name}`,
    `Issuer        ${provider.issuer}`,
    `Client id     ${provider.clientId}`,
    `Enabled       ${provider.enabled ? "yes" : "no"}`,
    `Tested        ${provider.testedAt ?? "never"}`,
    `Redirect URI  ${provider.redirectUri}`,
    `Sign-in URL   ${provider.signInUrl}`,
  ]);
}
