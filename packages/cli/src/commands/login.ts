import { type Command, Option } from "commander";
import { ApiClient } from "../api-client.ts";
import { CommandFailure } from "../failure.ts";
import { writeJson, writeLines } from "../output.ts";
import { isCurrentSession } from "../response-checks.ts";
import { type Context, changeCredentials } from "../sign-in/credential-file.ts";
import { connectTo, findContext, type SignedInContext, StoredSession, signedOut, signIn } from "../sign-in/sign-in.ts";
import { callableUrl, defaultUrl } from "./api-options.ts";

interface ContextOptions {
  readonly context?: string;
  readonly url?: string;
  readonly json?: true;
}

interface LoginOptions extends ContextOptions {
  /** False with --no-browser. */
  readonly browser: boolean;
  readonly fresh?: true;
}

export function addLoginCommands(program: Command): void {
  const login = program
    .command("login")
    .summary("sign in as a person")
    .description(
      "Signs you in at a server. You approve this command line in a browser: on this machine, or on any other one by a code. Commands then act as you, with the permissions of your roles. The tokens are in a file that only you can read.",
    )
    .option("--no-browser", "Print a code instead of opening a browser.")
    .option("--fresh", "Require that you have authenticated in the last 10 minutes.")
    .action(logIn)
    .addHelpText(
      "after",
      `
Examples:
  gatehouse login --url https://gatehouse.example.com
  gatehouse login --no-browser --context production --url https://gatehouse.example.com`,
    );
  const logout = program
    .command("logout")
    .summary("end your session")
    .description("Ends your session at the server, and deletes its tokens from this machine.")
    .action(logOut);
  const who = program
    .command("whoami")
    .summary("show who is signed in")
    .description("Asks the server who is signed in, and until when.")
    .action(whoAmI);
  for (const command of [login, logout, who]) {
    command
      .addOption(new Option("--url <url>", "Base URL of the Gatehouse server.").env("GATEHOUSE_URL"))
      .addOption(
        new Option("--context <name>", "Name of the context (default: the server's host, or the current context).").env(
          "GATEHOUSE_CONTEXT",
        ),
      )
      .option("--json", "Print JSON.");
  }
}

async function logIn({ url, context: name, browser, fresh, json }: LoginOptions): Promise<void> {
  const known = url === undefined ? knownUrl(name) : undefined;
  const made = await signIn({
    url: callableUrl(url ?? known ?? defaultUrl),
    name,
    ...(browser ? {} : { browser }),
    fresh,
  });
  const { user, tenant, url: at, sessionExpiresAt } = made.context;
  if (json === true) return writeJson(described(made));
  return writeLines([
    `Signed in at ${at} as ${user.email}, in the tenant ${tenant.name}.`,
    `The session ends at ${sessionExpiresAt} at the latest. The current context is ${made.name}.`,
  ]);
}

/** The server of a context that exists; undefined for a new one. */
function knownUrl(name: string | undefined): string | undefined {
  try {
    return findContext({ name })?.context.url;
  } catch {
    return undefined;
  }
}

async function logOut(options: ContextOptions): Promise<void> {
  const { name, context } = requireContext(options);
  let failure: unknown;
  try {
    const client = await connectTo(context.url);
    await client.signOut(context);
  } catch (error) {
    failure = error;
  }
  await changeCredentials((before) => {
    const { [name]: _removed, ...contexts } = before.contexts;
    const { current, ...rest } = before;
    return { ...rest, ...(current === undefined || current === name ? {} : { current }), contexts };
  });
  if (failure !== undefined) {
    const reason = failure instanceof Error ? failure.message : String(failure);
    throw new CommandFailure("The tokens were deleted, but the session could not be ended at the server.", {
      details: [reason, `It ends at ${context.sessionExpiresAt} at the latest. You can end it in the console.`],
    });
  }
  if (options.json === true) return writeJson({ context: name, url: context.url });
  return writeLines([`Signed out of ${context.url}.`]);
}

async function whoAmI(options: ContextOptions): Promise<void> {
  const signedIn = requireContext(options);
  const { name, context } = signedIn;
  const client = new ApiClient(context.url, new StoredSession(signedIn));
  const query = { "filter[user.id]": context.user.id };
  for await (const session of client.items(
    (gatehouse) => gatehouse.list("/tenants/sessions", { query }),
    isCurrentSession,
  )) {
    if (!session.current) continue;
    const { user, method, authenticatedAt, expiresAt } = session;
    if (options.json === true) {
      return writeJson({ ...described(signedIn), user, method, authenticatedAt, expiresAt });
    }
    return writeLines([
      `${user.email}, in the tenant ${context.tenant.name} at ${context.url}`,
      "",
      `  Context        ${name}`,
      `  Signed in by   ${method}`,
      `  Authenticated  ${authenticatedAt}`,
      `  Session ends   ${expiresAt} at the latest`,
    ]);
  }
  throw signedOut(context.url);
}

function requireContext({ context: name, url }: ContextOptions): SignedInContext {
  const found = findContext({ name, url });
  if (found !== undefined) return found;
  throw new CommandFailure("You are not signed in.", { details: ["Run gatehouse login."] });
}

/** A context without its tokens. */
function described({ name, context }: SignedInContext): object {
  const { url, user, tenant, sessionExpiresAt }: Context = context;
  return { context: name, url, user, tenant, sessionExpiresAt };
}
