/** Orders a certificate from a certificate authority (RFC 8555). */
import { X509Certificate } from "node:crypto";
import { Agent } from "node:https";
import { axios, Client, crypto } from "acme-client";
import type { AcmeChallenge } from "./acme.queries.ts";

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
  /** Makes the proof available on all replicas. */
  readonly present: (challenge: AcmeChallenge) => Promise<void>;
}

export interface OrderedCertificate {
  /** PEM: the certificate and its intermediate certificates. */
  readonly certificate: string;
  /** PEM. */
  readonly privateKey: string;
  readonly notBefore: Date;
  readonly notAfter: Date;
}

const requestTimeoutMs = 30_000;
const maxErrorLength = 300;

/**
 * Trusts an authority with a private certificate. The library has one HTTP client, so this applies to the process.
 *
 * @param ca PEM; undefined for the authorities that the system trusts
 */
export function trustAuthority(ca: Buffer | undefined): void {
  axios.defaults.timeout = requestTimeoutMs;
  if (ca !== undefined) axios.defaults.httpsAgent = new Agent({ ca });
}

/** @returns PEM */
export async function createAccountKey(): Promise<string> {
  return (await crypto.createPrivateEcdsaKey("P-256")).toString();
}

/** @throws Error; its message contains no secret */
export async function orderCertificate(order: AcmeOrder): Promise<OrderedCertificate> {
  const { directoryUrl, host, accountKey, contact, challengeType, present } = order;
  const client = new Client({ directoryUrl, accountKey });
  await client.createAccount({
    termsOfServiceAgreed: true,
    ...(contact === undefined ? {} : { contact: [`mailto:${contact}`] }),
  });
  const made = await client.createOrder({ identifiers: [{ type: "dns", value: host }] });
  for (const { status, challenges } of await client.getAuthorizations(made)) {
    if (status === "valid") continue;
    // The library's type lacks TLS-ALPN-01, which the library supports.
    const challenge = challenges.find(({ type }) => String(type) === challengeType);
    if (challenge === undefined) throw new Error(`the authority does not offer ${challengeType} for ${host}`);
    const keyAuthorization = await client.getChallengeKeyAuthorization(challenge);
    await present({ token: challenge.token, keyAuthorization });
    await client.completeChallenge(challenge);
    await client.waitForValidStatus(challenge);
  }
  const [privateKey, request] = await crypto.createCsr(
    { altNames: [host] },
    await crypto.createPrivateEcdsaKey("P-256"),
  );
  const certificate = await client.getCertificate(await client.finalizeOrder(made, request));
  const { validFrom, validTo } = new X509Certificate(certificate);
  return {
    certificate,
    privateKey: privateKey.toString(),
    notBefore: new Date(validFrom),
    notAfter: new Date(validTo),
  };
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
  return message.replaceAll(/\s+/g, " ").slice(0, maxErrorLength) || "the order failed without a reason";
}
