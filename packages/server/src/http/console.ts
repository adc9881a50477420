/**
 * Serves the built console at `/console/` (docs/decisions/0040-console.md). The console is an ordinary client of the
 * API.
 */
import { randomBytes } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import type { FastifyInstance, FastifyReply } from "fastify";
import { AppError } from "../platform/app-error.ts";
import { chooseEncoding } from "./compression.ts";
import { sendBytes } from "./replies.ts";

const prefix = "/console/";
/** The placeholder that the build inserts for a style's nonce. */
const noncePlaceholder = "__GATEHOUSE_NONCE__";
/** The media types of assets by the extension of their names. */
const mediaTypes: Readonly<Record<string, string>> = {
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".txt": "text/plain; charset=utf-8",
  ".woff2": "font/woff2",
};
const extensions = { br: ".br", gzip: ".gz" } as const;

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
  mountAssets(app, path.join(folder, "assets"));
  // Every other path is a page of the console, which routes it itself.
  app.get(`${prefix}*`, (_request, reply) => {
    const nonce = randomBytes(18).toString("base64url");
    return pageReply(reply, nonce).send(page.replaceAll(noncePlaceholder, nonce));
  });
}

/**
 * Serves the assets. Their names change with their content. Each is read once, and all responses share the bytes:
 * clients without credentials can open many responses and not read them.
 */
function mountAssets(app: FastifyInstance, folder: string): void {
  const files: ReadonlySet<string> = new Set(existsSync(folder) ? readdirSync(folder) : []);
  const contents = new Map<string, Buffer>();
  const contentOf = (file: string) => {
    const content = contents.get(file) ?? readAsset(path.join(folder, file));
    contents.set(file, content);
    return content;
  };
  app.get<{ Params: { "*": string } }>(`${prefix}assets/*`, (request, reply) => {
    const { "*": file } = request.params;
    if (!files.has(file)) throw new AppError("no_such_operation");
    const encoding = chooseEncoding(request.headers["accept-encoding"]);
    const compressed = encoding === undefined ? file : file + extensions[encoding];
    const isCompressed = compressed !== file && files.has(compressed);
    const content = contentOf(isCompressed ? compressed : file);
    reply
      .header("Content-Type", mediaTypes[path.extname(file)] ?? "application/octet-stream")
      .header("Cache-Control", "public, max-age=31536000, immutable")
      .header("Vary", "Accept-Encoding")
      .header("X-Content-Type-Options", "nosniff");
    if (isCompressed) reply.header("Content-Encoding", encoding);
    return sendBytes(reply, content);
  });
}

/** A file that no longer exists is an unknown asset: another build replaced the files after the start. */
function readAsset(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") throw new AppError("no_such_operation");
    throw error;
  }
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
