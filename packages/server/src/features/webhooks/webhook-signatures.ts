/** Secrets of webhooks, and what is signed with them (https://www.standardwebhooks.com). */
import { randomBytes } from "node:crypto";
import { Webhook } from "standardwebhooks";

/** The specification asks for 24 to 64. */
const secretBytes = 32;

/** Makes a secret as receivers configure it: `whsec_` and the key in base64. */
export function generateWebhookSecret(): string {
  return `whsec_${randomBytes(secretBytes).toString("base64")}`;
}

/** What a secret's ciphertext is bound to, so that it decrypts in its own row only. */
export function secretContext(tenantId: string, webhookId: string, secretId: string): string {
  return `webhook:${tenantId}:${webhookId}:${secretId}`;
}

/**
 * @param secrets one signature each, in this order, in one header
 * @param at the time of this attempt, which receivers compare with theirs
 */
export function signedHeaders(
  messageId: string,
  at: Date,
  body: string,
  secrets: readonly string[],
): Readonly<Record<string, string>> {
  return {
    "webhook-id": messageId,
    "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
    "webhook-signature": secrets.map((secret) => new Webhook(secret).sign(messageId, at, body)).join(" "),
  };
}
