/**
 * Serves the built console at `/console/` (docs/decisions/0040-console.md). The console is an ordinary client of the
 * API.
 */
import { randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import fastifyStatic from "@fastify/static";
import type { FastifyInstance, FastifyReply } from "fastify";

const prefix = "/console/";
/** The placeholder that the build inserts for a style's nonce. */
const noncePlaceholder = "__GATEHOUSE_NONCE__";
const yearMs = 365 * 24 * 60 * 60 * 1000;

/** Allows no other origin and nothing inline, except styles that the page's own scripts create with the nonce. */
function contentSecurityPolicy(nonce: string | undefined): string {
  const styles = nonce === undefined ? "style-src 'none'" : `style-src 'self' 'nonce-${nonce}'`;
  return [
    "default-src 'none'",
    "script-src 'self'",
    styles,
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "form-action 'none'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
}

const notBuilt = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Gatehouse</title></head>
<body>
<h1>The console is not built</h1>
<p>This server has no built console. Run <code>npm run build</code> where it was installed, and start it again; <code>npm start</code> does both.</p>
<p>The API is described at <a href="/docs">/docs</a>.</p>
</body>
</html>
`;

/** @param folder of the built console; undefined, or a folder without the console, if it is absent */
export function mountConsole(app: FastifyInstance, folder: string | undefined): void {
  const redirect = (from: string, to: string) =>
    app.get(from, (_request, reply) => reply.header("cache-control", "no-store").redirect(to));
  for (const start of ["/", "/console"]) redirect(start, prefix);
  for (const own of ["/my", "/my/", "/console/my/"]) redirect(own, `${prefix}my`);
  const page = folder === undefined ? undefined : readPage(folder);
  if (folder === undefined || page === undefined) {
    app.get(`${prefix}*`, (_request, reply) => pageReply(reply, undefined).status(503).send(notBuilt));
    return;
  }
  // Asset names change with their content, and each asset has a compressed copy.
  void app.register(fastifyStatic, {
    root: path.join(folder, "assets"),
    prefix: `${prefix}assets/`,
    decorateReply: false,
    index: false,
    preCompressed: true,
    immutable: true,
    maxAge: yearMs,
    setHeaders: (reply) => {
      reply.setHeader("X-Content-Type-Options", "nosniff");
      reply.setHeader("Vary", "Accept-Encoding");
    },
  });
  // Every other path is a page of the console, which routes it itself.
  app.get(`${prefix}*`, (_request, reply) => {
    const nonce = randomBytes(18).toString("base64url");
    return pageReply(reply, nonce).send(page.replaceAll(noncePlaceholder, nonce));
  });
}

function readPage(folder: string): string | undefined {
  const file = path.join(folder, "index.html");
  return existsSync(file) ? readFileSync(file, "utf8") : undefined;
}

function pageReply(reply: FastifyReply, nonce: string | undefined): FastifyReply {
  return reply
    .header("Content-Type", "text/html; charset=utf-8")
    .header("Content-Security-Policy", contentSecurityPolicy(nonce))
    .header("Cache-Control", "no-store")
    .header("Referrer-Policy", "same-origin")
    .header("Cross-Origin-Opener-Policy", "same-origin")
    .header("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()")
    .header("X-Content-Type-Options", "nosniff");
}
