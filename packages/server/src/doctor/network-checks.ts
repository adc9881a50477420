/** Checks of the server's addresses: the port, the certificate and the public address. */
import { execFile } from "node:child_process";
import { stat } from "node:fs/promises";
import { createServer } from "node:net";
import type { Config } from "../config.ts";
import { TlsCertificate } from "../http/tls-certificate.ts";
import { type Finding, ok, problem, reasonOf, skipped, warning } from "./finding.ts";

const answerTimeoutMs = 5_000;
const soonMs = 14 * 24 * 60 * 60 * 1_000;

/** Whether the user that owns a folder can read a file; undefined if that could not be determined. */
type OwnerCanRead = (file: string, folder: string) => Promise<boolean | undefined>;

/** @param canRead asks whether the service, which owns the data folder, can read a file */
export async function checkTls(
  config: Config,
  now: Date,
  canRead: OwnerCanRead = ownerCanRead,
): Promise<readonly Finding[]> {
  // The certificate is in the database, and is checked there.
  if (config.acmeDirectory !== undefined) return [];
  return [await checkFiles(config, now, canRead)];
}

async function checkFiles(
  { tlsCert, tlsKey, publicUrl, dataDir }: Config,
  now: Date,
  canRead: OwnerCanRead,
): Promise<Finding> {
  if (tlsCert === undefined || tlsKey === undefined) {
    return skipped(
      "tls",
      "GATEHOUSE_TLS_CERT is not set: the server speaks plain HTTP, and a proxy must terminate TLS.",
    );
  }
  const { problem: found, certificate } = await TlsCertificate.inspect({ certFile: tlsCert, keyFile: tlsKey }, now);
  if (found !== undefined || certificate === undefined) {
    const remedy = "Renew the certificate, or correct GATEHOUSE_TLS_CERT and GATEHOUSE_TLS_KEY.";
    return problem("tls", `The TLS certificate cannot be used: ${found}.`, remedy);
  }
  for (const file of [tlsCert, tlsKey]) {
    if ((await canRead(file, dataDir)) !== false) continue;
    const remedy = `Run: chown "$(stat -c %U '${dataDir}')" '${file}', and let that user enter its folder.`;
    return problem("tls", `The user of the service cannot read ${file}.`, remedy);
  }
  const host = publicUrl === undefined ? undefined : new URL(publicUrl).hostname;
  if (host !== undefined && certificate.checkHost(host) === undefined) {
    const remedy = `Request a certificate for ${host}, or correct GATEHOUSE_PUBLIC_URL.`;
    return problem("tls", `The certificate in ${tlsCert} is not valid for ${host}.`, remedy);
  }
  const message = `The certificate in ${tlsCert} is valid until ${certificate.validTo}.`;
  if (Date.parse(certificate.validTo) - now.getTime() > soonMs) return ok("tls", message);
  return warning("tls", message, "Renew the certificate. The server reloads changed files without a restart.");
}

/** Root can read every file. It therefore asks as the owner of the folder, with that user's groups. */
async function ownerCanRead(file: string, folder: string): Promise<boolean | undefined> {
  const owner = await stat(folder).catch(() => undefined);
  if (owner === undefined || owner.uid === 0 || process.getuid?.() !== 0) return undefined;
  const unreadable = 100; // a code that setpriv does not use
  const user = [`--reuid=${owner.uid}`, `--regid=${owner.gid}`, "--init-groups"];
  const check = ["sh", "-c", `test -r "$1" || exit ${unreadable}`, "sh", file];
  return new Promise((resolve) => {
    execFile("setpriv", [...user, ...check], { timeout: answerTimeoutMs }, (error) => {
      if (error === null) resolve(true);
      else resolve(error.code === unreadable ? false : undefined);
    });
  });
}

export async function checkPublicUrl({ publicUrl, host }: Config): Promise<Finding> {
  if (publicUrl === undefined) {
    if (isLoopback(host)) return skipped("public url", "GATEHOUSE_PUBLIC_URL is not set; only this machine is served.");
    const remedy = "Set GATEHOUSE_PUBLIC_URL to the address that browsers use, such as https://gatehouse.example.com.";
    return problem("public url", `The server listens on ${host}, and GATEHOUSE_PUBLIC_URL is not set.`, remedy);
  }
  const url = new URL(publicUrl);
  if (url.protocol === "http:" && url.hostname !== "localhost") {
    const remedy = "Set up TLS, and an address with https://. Browsers refuse passkeys without TLS.";
    return problem("public url", `${publicUrl} has no TLS.`, remedy);
  }
  try {
    const { status } = await fetch(new URL("/healthz", url), { signal: AbortSignal.timeout(answerTimeoutMs) });
    if (status === 200) return ok("public url", `${publicUrl} reaches a Gatehouse.`);
    const remedy = "Check the configuration of the proxy: it must forward all paths to the server.";
    return problem("public url", `${publicUrl}/healthz answered with status ${status} instead of 200.`, remedy);
  } catch (error) {
    const reason = reasonOf(error instanceof Error && error.cause !== undefined ? error.cause : error);
    const remedy =
      "Check that the server runs (journalctl -u gatehouse), the name in DNS, the certificate, the proxy and firewalls.";
    return problem("public url", `${publicUrl} does not answer (${reason}).`, remedy);
  }
}

/** The port must be free, or used by a Gatehouse that is ready. */
export async function checkPort({ host, port, tlsCert, acmeDirectory }: Config): Promise<Finding> {
  if (port === 0) return skipped("port", "GATEHOUSE_PORT is 0: each start selects a free port.");
  const place = `port ${port} on ${host}`;
  const code = await listenCode(host, port);
  if (code === undefined) return ok("port", `Nothing uses ${place}.`);
  if (code === "EACCES") {
    const remedy = "Run the service with CAP_NET_BIND_SERVICE, or choose a port above 1023 with GATEHOUSE_PORT.";
    return problem("port", `This user cannot listen on ${place}.`, remedy);
  }
  if (code !== "EADDRINUSE") {
    const remedy = "Set GATEHOUSE_HOST to an address of this machine, or to 0.0.0.0 or :: for all interfaces.";
    return problem("port", `This machine cannot listen on ${place} (${code}).`, remedy);
  }
  if (tlsCert !== undefined || acmeDirectory !== undefined) return ok("port", `A program listens on ${place}.`);
  const status = await readiness(host, port);
  if (status === 200) return ok("port", `A Gatehouse on ${place} is ready.`);
  if (status === 503) {
    return problem("port", `The Gatehouse on ${place} is not ready.`, "Read its log: journalctl -u gatehouse");
  }
  const remedy = "Stop the program, or choose another port with GATEHOUSE_PORT.";
  return problem("port", `A program other than Gatehouse uses ${place}.`, remedy);
}

/** @returns the error code of an attempt to listen; undefined if it succeeds */
function listenCode(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", (error) => resolve(reasonOf(error)));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)));
  });
}

async function readiness(host: string, port: number): Promise<number | undefined> {
  const target = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "[::1]" : host.includes(":") ? `[${host}]` : host;
  try {
    const signal = AbortSignal.timeout(answerTimeoutMs);
    const response = await fetch(`http://${target}:${port}/readyz`, { signal, redirect: "manual" });
    await response.body?.cancel();
    return response.headers.has("x-request-id") ? response.status : undefined;
  } catch {
    return undefined;
  }
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || host.startsWith("127.");
}
