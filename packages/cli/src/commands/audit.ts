import { createReadStream } from "node:fs";
import { readConfig } from "@gatehouse/server/config";
import type { VerifyExportOptions } from "@gatehouse/server/platform/audit/verify-export";
import type { Finding, Report } from "@gatehouse/server/platform/audit/verify-record";
import { createLog } from "@gatehouse/server/platform/log";
import type { VerifyAuditOptions } from "@gatehouse/server/verify-audit";
import { type Command, InvalidArgumentError } from "commander";
import { CommandFailure, exitCodes } from "../failure.ts";
import { writeJson, writeLines } from "../output.ts";
import { readExpectedHeads } from "./expected-heads.ts";
import { parseId } from "./parse-id.ts";
import { addSettingOptions, givenFlags } from "./setting-options.ts";
import { untilStopped } from "./stop-signals.ts";

interface VerifyOptions {
  readonly file?: string;
  readonly tenant?: string;
  readonly publicKey?: string;
  readonly expectHead?: string;
  readonly expectHeads?: string;
  readonly live?: true;
  readonly json?: true;
}

interface AcceptHeadOptions {
  readonly tenant?: string;
  readonly reason: string;
  readonly json?: true;
}

/** The id under which the operator's record is reported. */
const operatorRecord = "00000000-0000-0000-0000-000000000000";

/** A verified record: of a tenant in the database, or an export. */
interface Verified extends Report {
  readonly tenantId: string;
  readonly publicKey: string;
  readonly filters?: readonly string[];
}

export function addAuditCommands(program: Command): void {
  const audit = program
    .command("audit")
    .summary("verify the audit record")
    .description("Verify the audit record, and accept its state after a backup was restored.");
  addAcceptHead(audit);
  const verify = audit
    .command("verify")
    .summary("find changes, gaps and reordering in audit records")
    .description(
      "Verifies audit records: those of all tenants and of the operator or of one tenant in the database, or an NDJSON export. Reports entries that were changed, removed, inserted or moved, records that are empty, gone, or older than a head that was signed, entries that nothing signs, and effects on access that the record does not cover. Changes nothing. Exits with 1 if there is any problem.",
    )
    .option("--file <path>", "NDJSON export to verify instead of the database; - for standard input.")
    .option("--tenant <id>", "Verify only this tenant.", parseId)
    .option("--public-key <base64>", "Public key that must verify the signatures, as shown in exports.")
    .option(
      "--expect-head <hash>",
      "Head hash of an earlier verification, which must still be in the chain.",
      parseHash,
    )
    .option(
      "--expect-heads <file>",
      "File of heads that the records must contain: the output of an earlier verify --json, or a copy of audit-heads.ndjson from the data folder.",
    )
    .option("--live", "Also compare the records that decide access with their latest entries.")
    .option("--json", "Print JSON.")
    .action(({ file, tenant, publicKey, expectHead, expectHeads, live, json, ...flags }: VerifyOptions) =>
      verifyAll(
        file === undefined
          ? inDatabase({ tenantId: tenant, publicKey, expectHead, live }, expectHeads, givenFlags(flags))
          : inFile(file, { publicKey, expectHead }),
        json === true,
      ),
    );
  addSettingOptions(verify, [
    "dataDir",
    "databaseUrl",
    "masterKey",
    "secondMasterKey",
    "auditCheckpointSeconds",
    "logLevel",
  ]).addHelpText(
    "after",
    `
Examples:
  gatehouse audit verify --json > heads.json        Later: gatehouse audit verify --expect-heads heads.json
  GATEHOUSE_DATABASE_URL=postgres://… GATEHOUSE_MASTER_KEY=… gatehouse audit verify
  curl -H "apikey: $GATEHOUSE_API_KEY" "$GATEHOUSE_URL/tenants/events/export" | gatehouse audit verify --file -`,
  );
}

function parseHash(text: string): string {
  if (!/^[0-9a-f]{64}$/.test(text)) throw new InvalidArgumentError("Use 64 lower-case hexadecimal digits.");
  return text;
}

function addAcceptHead(audit: Command): void {
  const accept = audit
    .command("accept-head")
    .summary("accept the records of a restored backup")
    .description(
      "Signs the current heads of the audit records, and makes running servers accept them in place of later heads that they remember. Use this command only after restoring a backup: until then, Gatehouse refuses to sign the records. The operator's record keeps the reason.",
    )
    .requiredOption("--reason <text>", "Why the records are older than what was signed.")
    .option("--tenant <id>", "Accept only the record of this tenant, which may be gone.", parseId)
    .option("--json", "Print JSON.")
    .action(async ({ tenant: tenantId, reason, json, ...flags }: AcceptHeadOptions) => {
      const config = readConfig({ flags: givenFlags(flags), environment: process.env });
      const { acceptAuditHeads } = await import("@gatehouse/server/accept-audit-head");
      const accepted = await acceptAuditHeads(config, createLog(config.logLevel), { tenantId, reason });
      if (json === true) return writeJson(accepted);
      return writeLines(
        accepted.map((head) => `Accepted ${nameOf(head.tenantId)} at position ${head.position}: ${head.hash}`),
      );
    });
  addSettingOptions(accept, ["dataDir", "databaseUrl", "masterKey", "secondMasterKey", "logLevel"]).addHelpText(
    "after",
    `
Example:
  gatehouse audit accept-head --reason "Restored the backup of 3 May after a disk failure"`,
  );
}

function nameOf(tenantId: string): string {
  return tenantId === operatorRecord ? "the operator's record" : `the record of tenant ${tenantId}`;
}

async function* inDatabase(
  options: VerifyAuditOptions,
  expectHeads: string | undefined,
  flags: Readonly<Record<string, string>>,
): AsyncGenerator<Verified> {
  if (options.expectHead !== undefined && options.tenantId === undefined) {
    throw new CommandFailure("--expect-head applies to one tenant. Add --tenant.", { exitCode: exitCodes.usage });
  }
  const config = readConfig({ flags, environment: process.env });
  const { verifyAudit } = await import("@gatehouse/server/verify-audit");
  const expected = expectHeads === undefined ? [] : await readExpectedHeads(expectHeads);
  yield* verifyAudit(config, createLog(config.logLevel), untilStopped(), { ...options, expectHeads: expected });
}

async function* inFile(path: string, options: VerifyExportOptions): AsyncGenerator<Verified> {
  const { verifyExport, NotAnExportError } = await import("@gatehouse/server/platform/audit/verify-export");
  const chunks: AsyncIterable<Uint8Array> = path === "-" ? process.stdin : createReadStream(path);
  try {
    yield await verifyExport(chunks, options);
  } catch (error) {
    if (error instanceof NotAnExportError) throw new CommandFailure(error.message);
    if (error instanceof Error && "syscall" in error) {
      throw new CommandFailure(`Cannot read ${path}: ${error.message}.`);
    }
    throw error;
  }
}

async function verifyAll(records: AsyncIterable<Verified>, json: boolean): Promise<void> {
  const all: Verified[] = [];
  let problems = 0;
  for await (const record of records) {
    problems += record.problems;
    if (json) all.push(record);
    else await writeLines(linesOf(record));
  }
  if (json) await writeJson(all);
  if (problems > 0) {
    const message = `The audit record was changed: ${problems} ${problems === 1 ? "problem" : "problems"} found.`;
    throw new CommandFailure(message, { body: { title: message, problems } });
  }
}

function linesOf(record: Verified): readonly string[] {
  const { tenantId, findings, problems, events, leftOut, prunedThrough, head, signedThrough, filters = [] } = record;
  const name = tenantId === operatorRecord ? "Operator's record" : `Tenant ${tenantId}`;
  const lines = [`${name}: ${problems === 0 ? "intact" : "NOT INTACT"}`];
  lines.push(`  Entries      ${events}, through position ${head.position}`);
  if (prunedThrough > 0) lines.push(`  Pruned       through position ${prunedThrough}, according to a signed stub`);
  if (filters.length > 0) lines.push(`  Filtered     ${filters.join("; ")}: ${leftOut} sealed entries omitted`);
  lines.push(`  Signed       through position ${signedThrough}`);
  lines.push(`  Public key   ${record.publicKey}`, `  Head         ${head.hash}`);
  if (problems === 0) return lines;
  lines.push("", ...findings.map((finding) => `  ${placeOf(finding)}${finding.message}`));
  if (problems > findings.length) lines.push(`  … and ${problems - findings.length} more.`);
  return [...lines, ""];
}

function placeOf({ problem, position, id, createdAt }: Finding): string {
  const place = [position === undefined ? [] : `position ${position}`, id ?? [], createdAt ?? []].flat().join(", ");
  return `[${problem}] ${place === "" ? "" : `${place}: `}`;
}
