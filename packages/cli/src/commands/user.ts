import { type Command, InvalidArgumentError, Option } from "commander";
import { tableLines, writeJson, writeLines } from "../output.ts";
import { isArrayOf, isEnrolmentLink, isNewEnrolmentLink, isNothing } from "../response-checks.ts";
import { type ApiOptions, addApiOptions, apiClient } from "./api-options.ts";
import { userOf } from "./device-enrolment.ts";
import { parseId } from "./parse-id.ts";
import { shownOnce } from "./shown-once.ts";

interface LinkOptions extends ApiOptions {
  readonly notify?: true;
}

const linksPath = "/tenants/users/{id}/enrolment-links";

export function addUserCommands(program: Command): void {
  const user = program
    .command("user")
    .summary("invite people to sign in")
    .description("Create, list and revoke the links with which people register their first passkeys.");

  const create = user
    .command("invite-link")
    .summary("create an enrolment link for a user")
    .description(
      "Creates a link and a short code, and shows them once. The user registers a passkey with either, within seven days.",
    )
    .argument("<user>", "the user's id or email address", parseUser)
    .addOption(new Option("--notify", "Send the link to the user by email."))
    .action(createLink)
    .addHelpText("after", "\nExample:\n  gatehouse user invite-link ann@example.com --notify");
  const list = user
    .command("list-links")
    .summary("list a user's enrolment links")
    .description("Lists a user's enrolment links, without their secrets.")
    .argument("<user>", "the user's id or email address", parseUser)
    .action(listLinks);
  const revoke = user
    .command("revoke-link")
    .summary("revoke an enrolment link")
    .description("Revokes an enrolment link and its code.")
    .argument("<user>", "the user's id or email address", parseUser)
    .argument("<link-id>", "the link's id, as shown by user list-links", parseId)
    .action(revokeLink);
  for (const command of [create, list, revoke]) addApiOptions(command, "apiKey");
}

async function createLink(user: string, options: LinkOptions): Promise<void> {
  const body = options.notify === true ? { notify: true } : {};
  const client = apiClient(options, "apiKey");
  const { id } = await userOf(client, user);
  const made = await client.call((gatehouse) => gatehouse.post(linksPath, { path: { id }, body }), isNewEnrolmentLink);
  const lines = [
    options.notify === true ? "Created an enrolment link. The user gets it by email." : "Created an enrolment link.",
    "",
    `  Id       ${made.id}`,
    `  Link     ${made.url}`,
    `  Code     ${made.code}`,
    `  Expires  ${made.expiresAt}`,
    "",
    "The first person to use the link can sign in as the user. It will not be shown again.",
  ];
  await shownOnce(
    options.json === true ? writeJson(made) : writeLines(lines),
    `Revoke the link with gatehouse user revoke-link ${id} ${made.id}.`,
  );
}

async function listLinks(user: string, options: ApiOptions): Promise<void> {
  const client = apiClient(options, "apiKey");
  const { id } = await userOf(client, user);
  const links = await client.call(
    (gatehouse) => gatehouse.get(linksPath, { path: { id } }),
    isArrayOf(isEnrolmentLink),
  );
  if (options.json === true) return writeJson(links);
  const rows = links.map((link) => [
    link.id,
    link.createdAt,
    link.expiresAt,
    link.usedAt ?? "no",
    link.mail?.status ?? "none",
  ]);
  await writeLines(tableLines(["ID", "CREATED", "EXPIRES", "USED", "EMAIL"], rows));
}

async function revokeLink(user: string, linkId: string, options: ApiOptions): Promise<void> {
  const client = apiClient(options, "apiKey");
  const { id } = await userOf(client, user);
  await client.call(
    (gatehouse) => gatehouse.delete("/tenants/users/{id}/enrolment-links/{linkId}", { path: { id, linkId } }),
    isNothing,
  );
  if (options.json === true) await writeJson({ revoked: linkId });
  else await writeLines([`Revoked the enrolment link ${linkId}.`]);
}

/** Parses the argument of {@link userOf}. @throws InvalidArgumentError */
function parseUser(text: string): string {
  if (text.includes("@")) return text;
  try {
    return parseId(text);
  } catch {
    throw new InvalidArgumentError("Use an email address, or an id such as 01890a5d-ac96-774b-bcce-b302099a8057.");
  }
}
