/** The certificate and key in files. Reloaded after they change, because certificates are renewed while servers run. */
import { X509Certificate } from "node:crypto";
import { open } from "node:fs/promises";
import { createSecureContext } from "node:tls";
import type { BackgroundTask } from "../platform/background-task.ts";
import type { Clock } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import type { ServedCertificate, TlsPair } from "../platform/served-certificate.ts";
import { StartError } from "../platform/start-error.ts";

export interface TlsFiles {
  /** PEM: the server's certificate, followed by intermediate certificates. */
  readonly certFile: string;
  /** PEM: the private key, unencrypted. */
  readonly keyFile: string;
}

export interface TlsCertificateOptions {
  readonly files: TlsFiles;
  readonly clock: Clock;
  readonly log: Log;
}

const maxFileBytes = 1024 * 1024;
/** Polled, because notifications of file changes do not follow the symbolic links that Kubernetes replaces. */
const pollMs = 5_000;
const warnBeforeMs = 7 * 24 * 60 * 60 * 1_000;

export const tlsCertificateTask = "tls-certificate";

export class TlsCertificate implements ServedCertificate {
  readonly source = "file";
  readonly #options: TlsCertificateOptions;
  #pair: TlsPair;
  /** A pair that was found invalid, so that it is logged once. */
  #refused: TlsPair | undefined;
  /** Whether the approaching end of the validity period was logged. */
  #warned = false;
  #replaced: (pair: TlsPair) => void = () => undefined;

  private constructor(options: TlsCertificateOptions, pair: TlsPair) {
    this.#options = options;
    this.#pair = pair;
  }

  /** @throws StartError if the files are not a valid pair; an expired certificate is only logged */
  static async open(options: TlsCertificateOptions): Promise<TlsCertificate> {
    const { files, clock, log } = options;
    const remedy =
      "Set GATEHOUSE_TLS_CERT to a PEM file with the certificate and its intermediate certificates, and GATEHOUSE_TLS_KEY to a PEM file with its unencrypted private key.";
    try {
      const pair = await readPair(files);
      checkPair(pair, files);
      const problem = validityProblem(pair, files, clock.now());
      if (problem !== undefined) log.warn(files, `${problem}; clients will refuse it`);
      return new TlsCertificate(options, pair);
    } catch (error) {
      throw new StartError(`Cannot use the TLS certificate: ${messageOf(error)}.`, remedy, { cause: error });
    }
  }

  /** @returns what is wrong with the files at this time, and the certificate if it can be used */
  static async inspect(files: TlsFiles, now: Date): Promise<{ problem?: string; certificate?: X509Certificate }> {
    try {
      const pair = await readPair(files);
      checkPair(pair, files);
      const problem = validityProblem(pair, files, now);
      return { certificate: new X509Certificate(pair.cert), ...(problem === undefined ? {} : { problem }) };
    } catch (error) {
      return { problem: messageOf(error) };
    }
  }

  get pair(): TlsPair {
    return this.#pair;
  }

  get validTo(): Date {
    return new Date(new X509Certificate(this.#pair.cert).validTo);
  }

  onReplaced(replaced: (pair: TlsPair) => void): void {
    this.#replaced = replaced;
  }

  get tasks(): readonly BackgroundTask[] {
    return [{ name: tlsCertificateTask, intervalMs: pollMs, run: () => this.#poll() }];
  }

  async #poll(): Promise<void> {
    const { files, clock, log } = this.#options;
    let pair: TlsPair | undefined;
    try {
      pair = await readPair(files);
      if (isEqual(pair, this.#pair)) return this.#warnBeforeEnd();
      if (this.#refused !== undefined && isEqual(pair, this.#refused)) return;
      checkPair(pair, files);
      const problem = validityProblem(pair, files, clock.now());
      if (problem !== undefined) throw new Error(problem);
    } catch (error) {
      // A file that is missing for a moment is being replaced; a pair of different ages is half replaced.
      log.warn({ ...files, reason: messageOf(error) }, "changed TLS certificate is invalid; previous one remains");
      this.#refused = pair;
      return;
    }
    this.#pair = pair;
    this.#refused = undefined;
    this.#warned = false;
    this.#replaced(pair);
    log.info({ ...files, validTo: new X509Certificate(pair.cert).validTo }, "TLS certificate reloaded");
  }

  #warnBeforeEnd(): void {
    const { validTo } = this;
    if (this.#warned || validTo.getTime() - this.#options.clock.now().getTime() > warnBeforeMs) return;
    this.#warned = true;
    this.#options.log.warn({ ...this.#options.files, validTo }, "TLS certificate expires soon");
  }
}

function isEqual(a: TlsPair, b: TlsPair): boolean {
  return a.cert.equals(b.cert) && a.key.equals(b.key);
}

async function readPair({ certFile, keyFile }: TlsFiles): Promise<TlsPair> {
  return { cert: await readBounded(certFile), key: await readBounded(keyFile) };
}

async function readBounded(path: string): Promise<Buffer> {
  const file = await open(path).catch((error: NodeJS.ErrnoException) => {
    throw new Error(`${path} cannot be read (${error.code ?? error.message})`, { cause: error });
  });
  try {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(maxFileBytes + 1), 0, maxFileBytes + 1, 0);
    if (bytesRead > maxFileBytes) throw new Error(`${path} has more than 1 MiB`);
    return buffer.subarray(0, bytesRead);
  } catch (error) {
    if (error instanceof Error && "code" in error) throw new Error(`${path} cannot be read (${error.code})`);
    throw error;
  } finally {
    await file.close();
  }
}

/** @throws Error that names the file, without its content */
function checkPair({ cert, key }: TlsPair, { certFile, keyFile }: TlsFiles): void {
  try {
    new X509Certificate(cert);
  } catch {
    throw new Error(`${certFile} contains no certificate in PEM`);
  }
  try {
    createSecureContext({ cert });
  } catch {
    throw new Error(`${certFile} contains a certificate that TLS cannot use`);
  }
  try {
    createSecureContext({ key });
  } catch {
    throw new Error(`${keyFile} contains no unencrypted private key in PEM`);
  }
  try {
    createSecureContext({ cert, key });
  } catch {
    throw new Error(`the key in ${keyFile} does not belong to the certificate in ${certFile}`);
  }
}

function validityProblem({ cert }: TlsPair, { certFile }: TlsFiles, now: Date): string | undefined {
  const { validFrom, validTo } = new X509Certificate(cert);
  if (Date.parse(validTo) <= now.getTime()) return `the certificate in ${certFile} expired on ${validTo}`;
  if (Date.parse(validFrom) > now.getTime()) return `the certificate in ${certFile} is valid only from ${validFrom}`;
  return undefined;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
