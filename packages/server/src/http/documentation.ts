/** `/openapi.json`, the reference at `/docs`, and a page for each error code. No page asks any other server for anything. */
import { createReadStream } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { type ErrorCode, errorCodes, errorDefinitions } from "@gatehouse/contract/errors";
import type { Operation } from "@gatehouse/contract/operation";
import type { FastifyInstance } from "fastify";
import { AppError } from "../platform/app-error.ts";
import { openApiDocument } from "./openapi.ts";

const referenceFiles: Readonly<Record<string, string>> = {
  "swagger-ui.css": "text/css; charset=utf-8",
  "swagger-ui-bundle.js": "text/javascript; charset=utf-8",
  "favicon-32x32.png": "image/png",
};

const referenceFolder = path.dirname(createRequire(import.meta.url).resolve("swagger-ui-dist/package.json"));

/** Nothing from elsewhere, nothing inline but the style attributes that the reference sets. */
const contentSecurityPolicy =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; frame-ancestors 'none'";

const startScript = `SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#reference",
  deepLinking: true,
  persistAuthorization: false,
  validatorUrl: null,
  docExpansion: "none",
  tagsSorter: undefined,
});
`;

const referencePage = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Gatehouse API</title>
<link rel="icon" type="image/png" href="/docs/favicon-32x32.png">
<link rel="stylesheet" href="/docs/swagger-ui.css">
</head>
<body>
<div id="reference"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
`;

export function mountDocumentation(app: FastifyInstance, operations: readonly Operation[]): void {
  const document = JSON.stringify(openApiDocument(operations));
  app.get("/openapi.json", (_request, reply) =>
    reply
      .header("Content-Type", "application/json; charset=utf-8")
      .header("Access-Control-Allow-Origin", "*")
      .send(document),
  );
  app.get("/docs", (_request, reply) => htmlReply(reply).send(referencePage));
  app.get("/docs/start.js", (_request, reply) =>
    reply.header("Content-Type", "text/javascript; charset=utf-8").send(startScript),
  );
  app.get<{ Params: { file: string } }>("/docs/:file", (request, reply) => {
    const { file } = request.params;
    const type = Object.hasOwn(referenceFiles, file) ? referenceFiles[file] : undefined;
    if (type === undefined) throw new AppError("no_such_operation");
    reply.header("Content-Type", type).header("Cache-Control", "public, max-age=86400");
    return reply.send(createReadStream(path.join(referenceFolder, file)));
  });
  app.get("/errors", (_request, reply) => htmlReply(reply).send(errorIndex));
  app.get<{ Params: { code: string } }>("/errors/:code", (request, reply) => {
    const code = errorCodes.find((known) => known === request.params.code);
    if (code === undefined) throw new AppError("no_such_operation");
    return htmlReply(reply).send(errorPage(code));
  });
}

function htmlReply<R extends { header(name: string, value: string): R }>(reply: R): R {
  return reply
    .header("Content-Type", "text/html; charset=utf-8")
    .header("Content-Security-Policy", contentSecurityPolicy)
    .header("X-Content-Type-Options", "nosniff");
}

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

/** The declarations mark code with backticks and contain no markup of their own. */
function html(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(/`([^`]+)`/g, "<code>$1</code>");
}

function errorPage(code: ErrorCode): string {
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

const errorIndex = page(
  "Errors: Gatehouse",
  `<h1>Errors</h1>
<p>Every error is <code>application/problem+json</code> (RFC 9457) with a stable <code>code</code>.</p>
<table>
${errorCodes
  .map((code) => {
    const { status, title } = errorDefinitions[code];
    return `<tr><td>${status}</td><td><a href="/errors/${code}">${code}</a></td><td>${html(title)}</td></tr>`;
  })
  .join("\n")}
</table>`,
);
