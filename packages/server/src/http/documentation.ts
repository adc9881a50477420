/**
 * Serves `/openapi.json`, the reference at `/docs`, the schema of configurations, and a page for each error code. No
 * page loads anything from another server.
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { configurationSchema, configurationSchemaPath } from "@gatehouse/contract/configuration-schema";
import { errorCodes } from "@gatehouse/contract/errors";
import type { Operation } from "@gatehouse/contract/operation";
import { operations } from "@gatehouse/contract/operations/all";
import type { FastifyInstance } from "fastify";
import { AppError } from "../platform/app-error.ts";
import { errorIndex, errorPage } from "./error-pages.ts";
import { openApiDocument } from "./openapi.ts";
import { sendBytes } from "./replies.ts";

const referenceFiles: Readonly<Record<string, string>> = {
  "swagger-ui.css": "text/css; charset=utf-8",
  "swagger-ui-bundle.js": "text/javascript; charset=utf-8",
  "favicon-32x32.png": "image/png",
};

const require = createRequire(import.meta.url);
const referenceFolder = path.dirname(require.resolve("swagger-ui-dist/package.json"));

/** Allows no other origin and nothing inline, except the style attributes that the reference sets. */
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

/** Read once. All responses share the bytes, because clients without credentials can open many of them. */
const contents = new Map<string, Buffer>();

function contentOf(file: string): Buffer {
  const content = contents.get(file) ?? readFileSync(path.join(referenceFolder, file));
  contents.set(file, content);
  return content;
}

const schema = Buffer.from(JSON.stringify(configurationSchema));

/** The latest document. Servers of one process serve the same operations. */
let latest: { readonly described: readonly Operation[]; readonly bytes: Buffer } | undefined;

function documentOf(described: readonly Operation[]): Buffer {
  const isSame =
    latest?.described.length === described.length && latest.described.every((each, index) => each === described[index]);
  if (latest === undefined || !isSame) {
    latest = { described, bytes: Buffer.from(JSON.stringify(openApiDocument(described))) };
  }
  return latest.bytes;
}

/** @param served in any order; the document uses the contract's order, so that it is the same after every start */
export function mountDocumentation(app: FastifyInstance, served: readonly Operation[]): void {
  const document = documentOf(operations.filter((operation) => served.includes(operation)));
  app.get("/openapi.json", (_request, reply) =>
    sendBytes(
      reply.header("Content-Type", "application/json; charset=utf-8").header("Access-Control-Allow-Origin", "*"),
      document,
    ),
  );
  app.get(configurationSchemaPath, (_request, reply) =>
    sendBytes(
      reply.header("Content-Type", "application/schema+json; charset=utf-8").header("Access-Control-Allow-Origin", "*"),
      schema,
    ),
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
    return sendBytes(reply, contentOf(file));
  });
  app.get("/errors", (_request, reply) => htmlReply(reply).send(errorIndex()));
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
