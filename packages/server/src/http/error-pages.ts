/** The documentation of every error code as HTML, generated from the table in the contract. */
import { type ErrorCode, errorCodes, errorDefinitions } from "@gatehouse/contract/errors";

export const errorIntroduction = "Every error is `application/problem+json` (RFC 9457) with a stable `code`.";

function page(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style>
  body { font: 16px/1.55 system-ui, sans-serif; max-width: 44rem; margin: 3rem auto; padding: 0 1.25rem; color: #1b2430; }
  code { background: #eef1f5; padding: .1em .35em; border-radius: 4px; }
  a { color: #0b57a4; } td { padding: .2rem 1rem .2rem 0; vertical-align: top; }
  @media (prefers-color-scheme: dark) { body { background: #12161c; color: #dde3ea; } code { background: #222a34; } a { color: #7db5ef; } }
</style>
</head>
<body>
${body}
</body>
</html>
`;
}

/** The text as HTML. Backticks mark code; the definitions contain no other markup. */
function html(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(/`([^`]+)`/g, "<code>$1</code>");
}

/** The page at `/errors/{code}`. */
export function errorPage(code: ErrorCode): string {
  const { status, title, explanation, remedy } = errorDefinitions[code];
  return page(
    `${code}: Gatehouse`,
    `<p><a href="/errors">Errors</a></p>
<h1>${html(title)}</h1>
<p><code>${code}</code>, status ${status}</p>
<h2>When it happens</h2>
<p>${html(explanation)}</p>
<h2>What to do</h2>
<p>${html(remedy)}</p>`,
  );
}

/** The page at `/errors`, which lists every code. */
export function errorIndex(): string {
  const rows = errorCodes.map((code) => {
    const { status, title } = errorDefinitions[code];
    return `<tr><td>${status}</td><td><a href="/errors/${code}">${code}</a></td><td>${html(title)}</td></tr>`;
  });
  return page(
    "Errors: Gatehouse",
    `<h1>Errors</h1>
<p>${html(errorIntroduction)}</p>
<table>
${rows.join("\n")}
</table>`,
  );
}
