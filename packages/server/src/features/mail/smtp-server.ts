/** Hands mails to the SMTP server of the installation. */
import type { MailContent } from "./mail-content.ts";
import type { MailFailure } from "./mail-schedule.rules.ts";

/** The SMTP server, as configured. */
export interface SmtpSettings {
  readonly host: string;
  readonly port: number;
  /** TLS from the start, STARTTLS, or whatever the server offers. */
  readonly tls: "implicit" | "starttls" | "optional";
  readonly user: string | undefined;
  readonly password: string | undefined;
}

export interface OutgoingMail extends MailContent {
  readonly id: string;
  readonly to: string;
}

const connectMs = 10_000;
const idleMs = 20_000;
/** The time limit of an attempt, in milliseconds. */
const attemptMs = 60_000;
const maxErrorLength = 300;
/**
 * The commands whose permanent refusal concerns this mail. Others concern the configuration, which can be corrected.
 */
const mailCommands = ["RCPT TO", "DATA"];

export class SmtpServer {
  readonly #settings: SmtpSettings;
  readonly #from: string;

  /** @param from the sender's address */
  constructor(settings: SmtpSettings, from: string) {
    this.#settings = settings;
    this.#from = from;
  }

  /** @returns the failure; undefined if the server accepted the mail; "aborted" if that is not known */
  async send(
    { id, to, subject, text, html }: OutgoingMail,
    signal: AbortSignal,
  ): Promise<MailFailure | "aborted" | undefined> {
    const { host, port, tls, user, password } = this.#settings;
    // Loaded for the first mail, because many installations send none.
    const { createTransport } = await import("nodemailer");
    const transport = createTransport({
      host,
      port,
      secure: tls === "implicit",
      requireTLS: tls === "starttls",
      ...(user === undefined ? {} : { auth: { user, pass: password ?? "" } }),
      tls: { minVersion: "TLSv1.2", rejectUnauthorized: tls !== "optional" },
      connectionTimeout: connectMs,
      greetingTimeout: connectMs,
      dnsTimeout: connectMs,
      socketTimeout: idleMs,
      disableFileAccess: true,
      disableUrlAccess: true,
    });
    const mail = {
      from: { name: "Gatehouse", address: this.#from },
      to: { name: "", address: to },
      subject,
      text,
      html,
      // The same for each attempt, so that mailboxes recognise a mail that arrives twice.
      messageId: `<${id}@${domainOf(this.#from)}>`,
      headers: { "Auto-Submitted": "auto-generated", "X-Auto-Response-Suppress": "All" },
      xMailer: false,
      disableFileAccess: true,
      disableUrlAccess: true,
    } as const;
    const limit = AbortSignal.any([signal, AbortSignal.timeout(attemptMs)]);
    const late = new Promise<"late">((resolve) => limit.addEventListener("abort", () => resolve("late")));
    const sending = transport.sendMail(mail);
    // After the time limit, nobody waits for the attempt.
    sending.catch(() => undefined);
    try {
      if ((await Promise.race([sending, late])) !== "late") return undefined;
      if (signal.aborted) return "aborted";
      return { error: `The SMTP server took longer than ${attemptMs / 1000} s.`, refused: false };
    } catch (error) {
      return failureOf(error);
    } finally {
      transport.close();
    }
  }
}

function failureOf(error: unknown): MailFailure {
  const { message, responseCode, command } = error as {
    readonly message?: unknown;
    readonly responseCode?: unknown;
    readonly command?: unknown;
  }; // nodemailer adds these to its errors
  const permanent = typeof responseCode === "number" && responseCode >= 500 && responseCode < 600;
  return {
    error: printable(typeof message === "string" ? message : String(error)),
    refused: permanent && mailCommands.includes(String(command)),
  };
}

/** The text of an SMTP server for administrators. A server that quotes the mail must not reveal its link. */
function printable(text: string): string {
  return text
    .replaceAll(/gatehouse_enrol_\w*/g, "…")
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ")
    .trim()
    .slice(0, maxErrorLength);
}

function domainOf(address: string): string {
  return address.slice(address.lastIndexOf("@") + 1);
}
