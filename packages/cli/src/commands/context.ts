import type { Command } from "commander";
import { tableLines, writeJson, writeLines } from "../output.ts";
import { changeCredentials, readCredentials, requireContext } from "../sign-in/credential-file.ts";

interface JsonOption {
  readonly json?: true;
}

export function addContextCommands(program: Command): void {
  const context = program
    .command("context")
    .summary("list and choose the servers you are signed in to")
    .description("Lists and chooses the servers you are signed in to. Each gatehouse login makes a context.");
  context
    .command("list")
    .summary("list the contexts")
    .description("Lists the contexts, without their tokens.")
    .option("--json", "Print JSON.")
    .action(listContexts);
  context
    .command("use")
    .summary("choose the context that commands use")
    .description("Chooses the context that commands use.")
    .argument("<name>", "name of the context, as shown by context list")
    .option("--json", "Print JSON.")
    .action(useContext);
}

async function listContexts({ json }: JsonOption): Promise<void> {
  const { contexts, current } = readCredentials();
  const listed = Object.entries(contexts).map(([name, { url, user, tenant, sessionExpiresAt }]) => ({
    name,
    current: name === current,
    url,
    user,
    tenant,
    sessionExpiresAt,
  }));
  if (json === true) return writeJson(listed);
  if (listed.length === 0) return writeLines(["No contexts yet. Create one with gatehouse login."]);
  const rows = listed.map((item) => [
    item.current ? "*" : "",
    item.name,
    item.url,
    item.user.email,
    item.tenant.name,
    item.sessionExpiresAt,
  ]);
  return writeLines(tableLines(["", "NAME", "SERVER", "USER", "TENANT", "SESSION ENDS"], rows));
}

async function useContext(name: string, { json }: JsonOption): Promise<void> {
  await changeCredentials((before) => {
    requireContext(before, name);
    return { ...before, current: name };
  });
  if (json === true) return writeJson({ current: name });
  return writeLines([`The current context is ${name}.`]);
}
