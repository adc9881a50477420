import { isDeepStrictEqual } from "node:util";
import type * as operations from "@gatehouse/contract/operations/webhooks.operations";
import type { Permission } from "@gatehouse/contract/permissions";
import { defaultGraceSeconds } from "@gatehouse/contract/schema";
import { AppError, bodyField } from "../../platform/app-error.ts";
import type { Granted } from "../../platform/authorization/granted.ts";
import { authorize } from "../../platform/authorization/granted.ts";
import type { Call } from "../../platform/call.ts";
import { newId } from "../../platform/ids.ts";
import type { AllowedNetworks } from "../../platform/outbound/outbound-networks.ts";
import { created, empty, type Outcome, record, streamed } from "../../platform/outcome.ts";
import type { SecretBox } from "../../platform/secrets/master-key.ts";
import { lockGeneration } from "../../platform/tenancy/generation.queries.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import { endOfGeneration } from "../events/events.api.ts";
import { unknownFilters } from "./event-filters.rules.ts";
import { giveUpDeliveries } from "./webhook-deliveries.queries.ts";
import { replaceSecret } from "./webhook-secrets.queries.ts";
import { generateWebhookSecret, secretContext } from "./webhook-signatures.ts";
import { checkWebhookUrl } from "./webhook-url.rules.ts";
import * as queries from "./webhooks.queries.ts";
import { newWebhookView, webhookView } from "./webhooks.view.ts";

/** The number of webhooks per tenant. */
const maxWebhooks = 20;

const longestName = 120;

export async function listWebhooks(call: Call<typeof operations.listWebhooks>): Promise<Outcome> {
  return streamed(async (afterId, limit) =>
    (await call.read((tx) => queries.listWebhooks(tx, afterId, limit))).map(webhookView),
  );
}

export async function readWebhook(call: Call<typeof operations.readWebhook>): Promise<Outcome> {
  const row = await call.read((tx) => queries.readWebhook(tx, call.parameters.id));
  if (row === undefined) throw new AppError("not_found");
  return record(webhookView(row), row.version);
}

export async function createWebhook(call: Call<typeof operations.createWebhook>): Promise<Outcome> {
  const { body } = call;
  requireReadingEvents(call.permissions);
  return call.command(async (tx) => {
    const url = canonicalUrl(body.url, call.webhookNetworks);
    const { name = new URL(url).hostname.slice(0, longestName), events = [], active = true, description = "" } = body;
    requireValidFilters(events);
    // Hold the lock until the end: nobody else can exceed the limit, and the webhook starts right after this command.
    const generation = await lockGeneration(tx);
    if ((await queries.countWebhooks(tx)) >= maxWebhooks) {
      throw new AppError("webhook_limit_reached", {
        detail: `The tenant already has ${maxWebhooks} webhooks, which is the limit.`,
      });
    }
    const id = newId();
    const position = endOfGeneration(generation + 1);
    const settings = { name, url, events: [...events], active, description };
    const row = await queries.insertWebhook(tx, call.granted, id, settings, position, call.now);
    const secret = await issueSecret(tx, call.granted, call.secrets.webhookSecrets, id, call.now);
    tx.record({ type: "webhook", id, name, after: webhookView(row) });
    return created(newWebhookView(row, secret), row.version, `/tenants/webhooks/${id}`);
  });
}

export async function updateWebhook(
  call: Call<typeof operations.updateWebhook> | Call<typeof operations.patchWebhook>,
): Promise<Outcome> {
  const { body, now, granted } = call;
  if (body.url !== undefined || body.events !== undefined || body.active === true) {
    requireReadingEvents(call.permissions);
  }
  return call.command(async (tx) => {
    const row = await lockForChange(call, tx, call.parameters.id);
    const url = body.url === undefined ? row.url : canonicalUrl(body.url, call.webhookNetworks);
    requireValidFilters(body.events ?? []);
    const active = body.active ?? row.active;
    const settings: queries.WebhookRow = {
      ...row,
      url,
      name: body.name ?? row.name,
      events: [...(body.events ?? row.events)],
      description: body.description ?? row.description,
      active,
      // Activation restarts the times after which a webhook is disabled.
      ...(active ? { disabled_reason: null, disabled_at: null } : {}),
      ...(active && !row.active ? { failing_since: null, behind_since: null } : {}),
    };
    if (isDeepStrictEqual(settings, row)) return record(webhookView(row), row.version);
    const updated = await queries.updateWebhook(tx, granted, settings, now);
    if (row.active && !active) await giveUpDeliveries(tx, granted, row.id, now);
    if (!row.active && active) {
      await queries.moveWebhook(tx, granted, row.id, endOfGeneration((await lockGeneration(tx)) + 1));
    }
    tx.record({
      type: "webhook",
      id: row.id,
      name: updated.name,
      before: webhookView(row),
      after: webhookView(updated),
    });
    return record(webhookView(updated), updated.version);
  });
}

export async function deleteWebhook(call: Call<typeof operations.deleteWebhook>): Promise<Outcome> {
  return call.command(async (tx) => {
    const row = await lockForChange(call, tx, call.parameters.id);
    await queries.deleteWebhook(tx, call.granted, row.id);
    tx.record({ type: "webhook", id: row.id, name: row.name, before: webhookView(row) });
    return empty();
  });
}

export async function rotateWebhookSecret(call: Call<typeof operations.rotateWebhookSecret>): Promise<Outcome> {
  const graceMs = (call.body.graceSeconds ?? defaultGraceSeconds) * 1000;
  return call.command(async (tx) => {
    const row = await lockForChange(call, tx, call.parameters.id);
    const formerUntil = new Date(call.now.getTime() + graceMs);
    const secret = await issueSecret(tx, call.granted, call.secrets.webhookSecrets, row.id, formerUntil);
    const updated = await queries.updateWebhook(tx, call.granted, row, call.now);
    tx.record({ type: "webhook", id: row.id, name: row.name, before: webhookView(row), after: webhookView(updated) });
    return record(newWebhookView(updated, secret), updated.version);
  });
}

/** Generates a new secret for the webhook and stores it sealed. */
async function issueSecret(
  tx: TenantTx,
  granted: Granted<"webhooks:write">,
  box: SecretBox,
  webhookId: string,
  formerUntil: Date,
): Promise<string> {
  const id = newId();
  const secret = generateWebhookSecret();
  const ciphertext = box.seal(secret, secretContext(tx.tenantId, webhookId, id));
  await replaceSecret(tx, granted, webhookId, { id, ciphertext }, formerUntil);
  return secret;
}

/**
 * Requires the permission to read events: a webhook sends them to any receiver, and callers grant only rights that they
 * hold (0015).
 *
 * @throws AppError permission_denied
 */
function requireReadingEvents(held: ReadonlySet<Permission>): void {
  authorize(held, "events:read");
}

/** @throws AppError invalid_webhook_url */
function canonicalUrl(text: string, networks: AllowedNetworks): string {
  const check = checkWebhookUrl(text, networks);
  if (check.ok) return check.url.href;
  throw new AppError("invalid_webhook_url", { errors: [bodyField("/url", check.message)] });
}

/** @throws AppError unknown_event_type */
function requireValidFilters(events: readonly string[]): void {
  const unknown = unknownFilters(events);
  if (unknown.length > 0) throw new AppError("unknown_event_type", { errors: unknown });
}

/** @throws AppError not_found, precondition_failed */
async function lockForChange(
  call: { requireVersion(version: number): void },
  tx: TenantTx,
  id: string,
): Promise<queries.WebhookRow> {
  const row = await queries.lockWebhook(tx, id);
  if (row === undefined) throw new AppError("not_found");
  call.requireVersion(row.version);
  return row;
}
