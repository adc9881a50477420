/** Finds the enrolment link that a browser presents, by its token or by its code. */
import { timingSafeEqual } from "node:crypto";
import type { CommandRunner } from "../../platform/command.ts";
import { hashToken, tokenPrefixes } from "../../platform/secrets/tokens.ts";
import { parseEnrolmentCode } from "./enrolment-code.rules.ts";
import * as queries from "./enrolment-links.queries.ts";
import { codeContext } from "./issue-enrolment-links.ts";

export interface PresentedLink {
  readonly link: queries.EnrolmentLinkRow;
  /** Why the presenter does not have the link; undefined if the presenter has it. */
  readonly refused?: string | undefined;
}

type Runner = Pick<CommandRunner, "database" | "secrets">;

/** @returns undefined if the text leads to no link */
export async function findPresentedLink(runner: Runner, presented: string): Promise<PresentedLink | undefined> {
  if (presented.startsWith(tokenPrefixes.enrolmentLink)) {
    const link = await queries.findLinkByToken(runner.database, hashToken(presented));
    return link === undefined ? undefined : { link };
  }
  const code = parseEnrolmentCode(presented);
  if (code === undefined) return undefined;
  const link = await queries.findLinkByCode(runner.database, hashToken(code.locator));
  if (link === undefined) return undefined;
  // A used link has no code any more. The caller refuses it.
  if (link.code_ciphertext === null) return { link, refused: "the link was used before" };
  return { link, refused: await refusalOfCode(runner, link, link.code_ciphertext, code.secret) };
}

async function refusalOfCode(
  { database, secrets }: Runner,
  { tenant_id: tenantId, id }: queries.EnrolmentLinkRow,
  ciphertext: Buffer,
  secret: string,
): Promise<string | undefined> {
  const expected = Buffer.from(secrets.enrolmentLinks.open(ciphertext, codeContext(tenantId, id)));
  const given = Buffer.from(secret);
  return database.transaction({ kind: "tenant", tenantId }, async ({ query }) => {
    const tx = { tenantId, query };
    if (!(await queries.takeCodeAttempt(tx, id))) return "the code is locked after too many wrong attempts";
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) return "the code is wrong";
    await queries.returnCodeAttempt(tx, id);
    return undefined;
  });
}
