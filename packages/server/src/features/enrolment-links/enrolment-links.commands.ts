import type * as operations from "@gatehouse/contract/operations/enrolment-links.operations";
import { AppError } from "../../platform/app-error.ts";
import type { Call } from "../../platform/call.ts";
import { created, empty, type Outcome, wholeArray } from "../../platform/outcome.ts";
import { lockUserOfSession, readSignedInUser, requireNoMorePrivileged } from "../sessions/sessions.api.ts";
import * as queries from "./enrolment-links.queries.ts";
import { linkView } from "./enrolment-links.view.ts";
import { enrolmentPath, issueEnrolmentLinks, revokeLinks } from "./issue-enrolment-links.ts";

/** The number of links of a user. Another one revokes the oldest. */
const maxLinks = 10;
/** Links have no versions: nobody changes them. */
const onlyVersion = 1;

export async function listEnrolmentLinks(call: Call<typeof operations.listEnrolmentLinks>): Promise<Outcome> {
  const { id } = call.parameters;
  const [user, rows] = await call.read((tx) =>
    Promise.all([readSignedInUser(tx, id), queries.readLinksOfUser(tx, id)]),
  );
  if (user === undefined) throw new AppError("not_found");
  return wholeArray(rows.map(linkView));
}

export async function createEnrolmentLink(call: Call<typeof operations.createEnrolmentLink>): Promise<Outcome> {
  const { now, actor, body, secrets, publicUrl } = call;
  const { notify = false } = body;
  const mailsPerDay = notify ? call.mailsPerDay : undefined;
  return call.command(async (tx) => {
    // Concurrent commands for one user wait here, so that none exceeds the limit.
    const locked = await queries.lockLinkedUser(tx, call.parameters.id);
    if (locked === undefined) throw new AppError("not_found");
    call.requireVersion(locked.version);
    const user = await requireNoMorePrivileged(tx, call, call.parameters.id);
    if (user.status === "inactive") throw new AppError("user_deactivated", { detail: `${user.email} is deactivated.` });
    if (await queries.requiresSingleSignOn(tx)) throw new AppError("single_sign_on_only");
    if (notify && mailsPerDay === undefined) throw new AppError("mail_not_configured");
    const links = await queries.lockLinksOfUser(tx, user.id);
    const isOver = ({ used_at: usedAt, expires_at: end }: queries.EnrolmentLinkRow) =>
      usedAt !== null || Date.parse(end) <= now.getTime();
    await queries.deleteLinks(
      tx,
      links.filter(isOver).map(({ id }) => id),
    );
    const open = links.filter((link) => !isOver(link));
    await revokeLinks(tx, open.slice(0, Math.max(0, open.length + 1 - maxLinks)), user.email);
    const options = { at: now, by: actor, box: secrets.enrolmentLinks, mailsPerDay };
    const [issued] = await issueEnrolmentLinks(tx, [user], options);
    if (issued === undefined) throw new Error("no link was issued");
    const { view, token, code } = issued;
    const shown = { ...view, url: `${publicUrl}${enrolmentPath(token)}`, code };
    return created(shown, onlyVersion, `/tenants/users/${user.id}/enrolment-links/${view.id}`);
  });
}

export async function deleteEnrolmentLink(call: Call<typeof operations.deleteEnrolmentLink>): Promise<Outcome> {
  const { id, linkId } = call.parameters;
  return call.command(async (tx) => {
    await lockUserOfSession(tx, id);
    const link = (await queries.lockLinksOfUser(tx, id)).find((known) => known.id === linkId.toLowerCase());
    if (link === undefined) throw new AppError("not_found");
    call.requireVersion(onlyVersion);
    const { email } = await requireNoMorePrivileged(tx, call, id);
    await revokeLinks(tx, [link], email);
    return empty();
  });
}
