import { Webhook } from "lucide-react";
import type { PageSet } from "../../app/page-set.ts";
import { t } from "../../messages/i18n.ts";

export const webhookPages: PageSet = {
  path: "webhooks",
  title: t("webhooks.title"),
  icon: Webhook,
  section: "administration",
  permission: "webhooks:read",
  list: async () => (await import("./webhooks.page.tsx")).WebhooksListPage,
  detail: async () => (await import("./webhook.page.tsx")).WebhookPage,
  create: { title: t("webhooks.create"), permission: "webhooks:write" },
  find: { path: "/tenants/webhooks" },
};
