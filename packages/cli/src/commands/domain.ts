import type { Domain } from "@gatehouse/contract/records/domain";
import type { Command } from "commander";
import { tableLines, writeJson, writeLines } from "../output.ts";
import { isArrayOf, isDomain, isNothing } from "../response-checks.ts";
import { type ApiOptions, addApiOptions, apiClient } from "./api-options.ts";
import { parseId } from "./parse-id.ts";

export function addDomainCommands(program: Command): void {
  const domain = program
    .command("domain")
    .summary("manage the email domains of a tenant")
    .description("Manage the email domains that a tenant has proven to own.");
  const list = domain
    .command("list")
    .summary("list domains")
    .description("Lists the domains of the tenant.")
    .action(listDomains);
  const add = domain
    .command("add")
    .summary("add a domain")
    .description("Adds a domain, and prints the TXT record that proves the ownership.")
    .argument("<domain>", "the domain, such as example.com")
    .action(addDomain);
  const verify = domain
    .command("verify")
    .summary("verify a domain")
    .description("Looks for the TXT record of a domain.")
    .argument("<id>", "the domain's id, as shown by domain list", parseId)
    .action(verifyDomain);
  const remove = domain
    .command("delete")
    .summary("delete a domain")
    .description("Deletes a domain. Users with addresses in it remain.")
    .argument("<id>", "the domain's id, as shown by domain list", parseId)
    .action(deleteDomain);
  for (const command of [list, add, verify, remove]) addApiOptions(command, "apiKey");
}

async function listDomains(options: ApiOptions): Promise<void> {
  const client = apiClient(options, "apiKey");
  const domains = await client.call((gatehouse) => gatehouse.get("/tenants/domains"), isArrayOf(isDomain));
  if (options.json === true) return writeJson(domains);
  const rows = domains.map(({ id, domain, verifiedAt }) => [id, domain, verifiedAt ?? "no"]);
  await writeLines(rows.length === 0 ? ["No domains."] : tableLines(["ID", "DOMAIN", "VERIFIED"], rows));
}

async function addDomain(domain: string, options: ApiOptions): Promise<void> {
  const client = apiClient(options, "apiKey");
  const body = { domain };
  const added = await client.call((gatehouse) => gatehouse.post("/tenants/domains", { body }), isDomain);
  await writeDomain(added, options);
}

async function verifyDomain(id: string, options: ApiOptions): Promise<void> {
  const client = apiClient(options, "apiKey");
  const verified = await client.call(
    (gatehouse) => gatehouse.post("/tenants/domains/{id}/verify", { path: { id } }),
    isDomain,
  );
  await writeDomain(verified, options);
}

async function deleteDomain(id: string, options: ApiOptions): Promise<void> {
  const client = apiClient(options, "apiKey");
  await client.call((gatehouse) => gatehouse.delete("/tenants/domains/{id}", { path: { id } }), isNothing);
  await (options.json === true ? writeJson({ deleted: id }) : writeLines([`Deleted the domain ${id}.`]));
}

async function writeDomain(domain: Domain, options: ApiOptions): Promise<void> {
  if (options.json === true) return writeJson(domain);
  await writeLines([
    `Id        ${domain.id}`,
    `Domain    ${domain.domain}`,
    `Verified  ${domain.verifiedAt ?? "no"}`,
    ...(domain.verifiedAt === null
      ? [
          "",
          "Publish this TXT record, then verify the domain:",
          "",
          `  ${domain.recordName}  TXT  "${domain.recordValue}"`,
          "",
          `  gatehouse domain verify ${domain.id}`,
        ]
      : []),
  ]);
}
