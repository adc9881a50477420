/** Orders a certificate from a certificate authority (RFC 8555). */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { createSecureContext } from "node:tls";
import { Client, crypto } from "acme-client";
import type { Clock } from "../clock.ts";
import { tlsLimits } from "../tls-limits.ts";
import type { AcmeChallenge } from "./acme.queries.ts";
import { withSignal } from "./authority-client.ts";

/** How the server proves that it controls the host. */
export type AcmeChallengeType = "http-01" | "tls-alpn-01";

export interface AcmeOrder {
  readonly directoryUrl: string;
  readonly host: string;
  /** PEM. */
  readonly accountKey: string;
  /** The address to which the authority sends warnings; undefined for none. */
  readonly contact: string | undefined;
  readonly challengeType: AcmeChallengeType;
  /** Makes the challenge available on all replicas. */
  readonly present: (challenge: AcmeChallenge) => Promise<void>;
  readonly clock: Clock;
  /** Ends the order. */
  readonly signal: AbortSignal;
}

export interface OrderedCertificate {
  /** PEM: the certificate and its intermediate certificates. */
  readonly certificate: string;
  /** PEM. */
  readonly privateKey: string;
  readonly notBefore: Date;
  readonly notAfter: Date;
}

const firstWaitMs = 1_000;
const longestWaitMs = 30_000;
const maxErrorLength = 300;
/**
 * The longest chain of certificates, and its size as PEM in bytes. Clients end a handshake with more than about 100 KB
 * of certificates.
 */
const maxChain = { certificates: 10, bytes: 65_536 } as const;
const unfinished = ["pending", "ready", "processing"];

/** @returns PEM */
export async function createAccountKey(): Promise<string> {
  return (await crypto.createPrivateEcdsaKey("P-256")).toString();
}

/** @throws Error; its message contains no secret */
export function orderCertificate(order: AcmeOrder): Promise<OrderedCertificate> {
  return withSignal(order.signal, () => placeOrder(order));
}

async function placeOrder(order: AcmeOrder): Promise<OrderedCertificate> {
  const { directoryUrl, host, accountKey, contact, challengeType, present, clock, signal } = order;
  const client = new Client({ directoryUrl, accountKey, backoffAttempts: 1 });
  await client.createAccount({
    termsOfServiceAgreed: true,
    ...(contact === undefined ? {} : { contact: [`mailto:${contact}`] }),
  });
  const made = await client.createOrder({ identifiers: [{ type: "dns", value: host }] });
  for (const authorization of await client.getAuthorizations(made)) {
    if (authorization.status === "valid") continue;
    // The library's type lacks TLS-ALPN-01, which the library supports.
    const challenge = authorization.challenges.find(({ type }) => String(type) === challengeType);
    if (challenge === undefined) throw new Error(`the authority does not offer ${challengeType} for ${host}`);
    const keyAuthorization = await client.getChallengeKeyAuthorization(challenge);
    await present({ token: challenge.token, keyAuthorization });
    await client.completeChallenge(challenge);
    await settled(signal, async () => {
      const present = await client.getAuthorizations(made);
      return present.find(({ url }) => url === authorization.url) ?? authorization;
    });
    // Its error has the reason.
    await client.waitForValidStatus(challenge);
  }
  const [privateKey, request] = await crypto.createCsr(
    { altNames: [host] },
    await crypto.createPrivateEcdsaKey("P-256"),
  );
  await client.finalizeOrder(made, request);
  const certificate = await client.getCertificate(await settled(signal, () => client.getOrder(made)));
  const { validFrom, validTo } = requireUsable(certificate, privateKey.toString(), host, clock.now());
  return {
    certificate,
    privateKey: privateKey.toString(),
    notBefore: new Date(validFrom),
    notAfter: new Date(validTo),
  };
}

/**
 * Checks the issued certificate. One that belongs to another key, or whose intermediate certificates cannot be read,
 * could not be served; an expired one would be ordered again at once.
 *
 * @param certificate PEM: the certificate and its intermediate certificates
 * @param privateKey PEM
 * @throws Error
 */
export function requireUsable(certificate: string, privateKey: string, host: string, now: Date): X509Certificate {
  const parsed = new X509Certificate(certificate);
  if (!parsed.checkPrivateKey(createPrivateKey(privateKey))) {
    throw new Error("the certificate of the authority belongs to another key");
  }
  if (parsed.checkHost(host) === undefined)
    throw new Error(`the certificate of the authority is not valid for ${host}`);
  if (Date.parse(parsed.validTo) <= now.getTime()) throw new Error("the certificate of the authority has expired");
  requireServable(certificate, privateKey);
  return parsed;
}

/**
 * Checks that a server can present the certificate: it limits the chain to what clients accept, parses all
 * intermediate certificates, and tries the key.
 *
 * @param certificate PEM: the certificate and its intermediate certificates
 * @param privateKey PEM
 * @throws Error
 */
export function requireServable(certificate: string, privateKey: string): void {
  const count = certificate.split("-----BEGIN ").length - 1;
  if (count > maxChain.certificates || certificate.length > maxChain.bytes) {
    const limits = `at most ${maxChain.certificates} and ${maxChain.bytes}`;
    throw new Error(
      `the certificate chain is too long for clients: certificates ${count}, bytes ${certificate.length}; ${limits}`,
    );
  }
  try {
    createSecureContext({ cert: certificate, key: privateKey, ...tlsLimits });
  } catch (error) {
    throw new Error(`TLS cannot use the certificate chain: ${orderProblem(error)}`, { cause: error });
  }
}

/** Waits until the authority has decided. The library can wait too, but not be interrupted. */
async function settled<T extends { readonly status: string }>(signal: AbortSignal, ask: () => Promise<T>): Promise<T> {
  for (let waitMs = firstWaitMs; ; waitMs = Math.min(2 * waitMs, longestWaitMs)) {
    const item = await ask();
    if (!unfinished.includes(item.status)) return item;
    await pause(waitMs, undefined, { signal });
  }
}

/** The certificate with which a server answers TLS-ALPN-01 (RFC 8737), self-signed. */
export async function challengeCertificate(host: string, keyAuthorization: string) {
  const authorization = {
    identifier: { type: "dns", value: host },
    status: "pending",
    challenges: [],
    url: "",
  } as const;
  const [key, cert] = await crypto.createAlpnCertificate(
    { ...authorization, challenges: [] },
    keyAuthorization,
    await crypto.createPrivateEcdsaKey("P-256"),
  );
  return { key, cert };
}

/** The reason of a failed order, for administrators. */
export function orderProblem(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  // A host with several addresses has one error for each, and no message of its own.
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  return (message || code).replaceAll(/\s+/g, " ").slice(0, maxErrorLength) || "the order failed without a reason";
}
