/** Pages that the server sends to browsers on their way to and from identity providers. */
import type { FastifyReply } from "fastify";
import type { SignInOffer } from "./provider-sign-in.ts";
import { firstPage } from "./return-page.ts";

export interface Page {
  readonly title: string;
  readonly lines: readonly string[];
  /** The path that the browser opens next. */
  readonly next?: string;
  /** The path of the link on the page, if the browser opens none. */
  readonly link?: string;
  /** The path and the label of a button. */
  readonly button?: { readonly path: string; readonly label: string };
}

export const notThere: Page = {
  title: "Unknown sign-in",
  lines: ["Ask an administrator for the address of the sign-in."],
};
export const refused: Page = {
  title: "The sign-in failed",
  lines: ["Try again. Administrators find the reason in the sign-in log."],
};
export const unreachable: Page = {
  title: "The identity provider does not answer",
  lines: ["Try again later, or sign in another way on the page of the console. Existing sessions continue."],
};
export const confirmed: Page = {
  title: "Your identity is confirmed",
  lines: ["Close this tab and return to the console."],
};
export const busy: Page = { title: "Too many sign-ins are under way", lines: ["Try again in a few seconds."] };

/** A question to the person. @param path the path that starts the sign-in */
export function signInQuestion({ tenantName, providerName, providerHost }: SignInOffer, path: string): Page {
  return {
    title: `Sign in to ${tenantName}?`,
    lines: [
      `You will sign in with ${providerName} at ${providerHost}.`,
      "Another site or an app may have opened this page. Continue only if you want to work in this organisation.",
      "Signing in ends any current session in this browser.",
    ],
    button: { path, label: "Continue" },
  };
}

export function sendPage(
  reply: FastifyReply,
  status: number,
  { title, lines, next, link = next ?? firstPage, button }: Page,
): FastifyReply {
  const refresh = next === undefined ? "" : `<meta http-equiv="refresh" content="0;url=${html(next)}">`;
  const paragraphs = lines.map((line) => `<p>${html(line)}</p>`).join("");
  const form =
    button === undefined
      ? ""
      : `<form method="post" action="${html(button.path)}"><button>${html(button.label)}</button></form>`;
  return (
    reply
      .status(status)
      .header("Content-Type", "text/html; charset=utf-8")
      .header(
        "Content-Security-Policy",
        // Browsers also apply `form-action` to the redirect to the provider.
        `default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action ${button === undefined ? "'none'" : "*"}`,
      )
      // With "no-referrer", browsers do not reveal that a form belongs to this server: its Origin is "null".
      .header("Referrer-Policy", button === undefined ? "no-referrer" : "same-origin")
      .send(
        `<!doctype html><html lang="en"><head><meta charset="utf-8">${refresh}<title>${html(title)}: Gatehouse</title></head>` +
          `<body><h1>${html(title)}</h1>${paragraphs}${form}<p><a href="${html(link)}">Console</a></p></body></html>`,
      )
  );
}

function html(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
