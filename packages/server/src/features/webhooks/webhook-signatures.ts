/** Secrets of webhooks and signatures (https://www.standardwebhooks.com). */
import { randomBytes } from "node:crypto";
import { Webhook } from "standardwebhooks";

/** The specification requires 24 to 64 bytes. */
const secretBytes = 32;

/** Generates a secret in the form that receivers configure: `whsec_` and the key in base64. */
export function generateWebhookSecret(): string {
  return `whsec_${randomBytes(secretBytes).toString("base64")}`;
}

/** The associated data of a secret's ciphertext, which makes it decrypt in its own row only. */
export function secretContext(tenantId: string, webhookId: string, secretId: string): string {
  return `webhook:${tenantId}:${webhookId}:${secretId}`;
}

/**
 * @param secrets each adds a signature to the header, in this order
 *
 * @param at the time of the attempt, which receivers compare with their clocks
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
