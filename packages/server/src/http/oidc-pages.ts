/** Pages that the server sends to browsers on their way to and from identity providers. */
import type { FastifyReply } from "fastify";
import { firstPage } from "./return-page.ts";

export interface Page {
  readonly title: string;
  readonly lines: readonly string[];
  /** The path that the browser opens next. */
  readonly next?: string;
  /** The path of the link on the page, if the browser opens none. */
  readonly link?: string;
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
  lines: ["Try again later, or sign in another way on the page of the console. Sessions that exist continue."],
};
export const confirmed: Page = {
  title: "Your identity is confirmed",
  lines: ["Close this tab and return to the console."],
};
export const busy: Page = { title: "Too many sign-ins are under way", lines: ["Try again in a few seconds."] };

export function sendPage(
  reply: FastifyReply,
  status: number,
  { title, lines, next, link = next ?? firstPage }: Page,
): FastifyReply {
  const refresh = next === undefined ? "" : `<meta http-equiv="refresh" content="0;url=${html(next)}">`;
  const body = lines.map((line) => `<p>${html(line)}</p>`).join("");
  return reply
    .status(status)
    .header("Content-Type", "text/html; charset=utf-8")
    .header(
      "Content-Security-Policy",
      "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    )
    .header("Referrer-Policy", "no-referrer")
    .send(
      `<!doctype html><html lang="en"><head><meta charset="utf-8">${refresh}<title>${html(title)}: Gatehouse</title></head>` +
        `<body><h1>${html(title)}</h1>${body}<p><a href="${html(link)}">Console</a></p></body></html>`,
    );
}

function html(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
