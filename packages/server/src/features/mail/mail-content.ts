/** The texts of mails. They contain no images and no addresses except for the server's own, so they track nobody. */

export interface MailContent {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

export interface InvitationMail {
  readonly email: string;
  readonly tenantName: string;
  /** The link, or the page of sign-in. */
  readonly url: string;
  /** ISO 8601; undefined for the page of sign-in, which does not expire. */
  readonly expiresAt: string | undefined;
}

export function invitationMail({ email, tenantName, url, expiresAt }: InvitationMail): MailContent {
  const name = oneLine(tenantName);
  const instruction =
    expiresAt === undefined
      ? "Sign in with your organization's account at this address:"
      : `Open this link to register a passkey. The link works once, until ${formatTime(expiresAt)}:`;
  const warning =
    expiresAt === undefined
      ? `Use the account with the address ${email}.`
      : `The first person to open the link can sign in as ${email}. Do not forward this message.`;
  const ending = "If you did not expect this message, ignore it.";
  const lines = [`You are invited to ${name} on Gatehouse.`, instruction, url, warning, ending];
  const paragraphs = lines.map((line) =>
    line === url ? `<p><a href="${escapeHtml(url)}">${escapeHtml(url)}</a></p>` : `<p>${escapeHtml(line)}</p>`,
  );
  const html = `<!doctype html><html lang="en"><head><meta charset="utf-8"></head><body>\n${paragraphs.join("\n")}\n</body></html>\n`;
  return { subject: `Your access to ${name}`, text: `${lines.join("\n\n")}\n`, html };
}

/** A name can contain any character. In a header or a line of text, it stays one line. */
function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ").trim();
}

function formatTime(iso: string): string {
  return `${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC`;
}

function escapeHtml(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;")
    .replaceAll("'", "&#39;");
}
