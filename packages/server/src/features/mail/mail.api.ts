/** Public API of this feature: mails to users. */
export { mailOf, queueMails } from "./mail.queries.ts";
export { type MailJson, mailView, pendingMail } from "./mail.view.ts";
export { clearFormerMailCounts, tenantsWithFormerMailCounts } from "./mail-limits.queries.ts";
export { MailSender } from "./mail-sender.ts";
export { mailedTokenContext } from "./mailed-token.ts";
export { SmtpServer, type SmtpSettings } from "./smtp-server.ts";
