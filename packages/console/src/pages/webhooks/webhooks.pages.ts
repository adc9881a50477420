import { Webhook } from "lucide-react";
import type { PageSet } from "../../app/page-set.ts";

export const webhookPages: PageSet = {
  path: "webhooks",
  title: "Webhooks",
  icon: Webhook,
  section: "administration",
  permission: "webhooks:read",
  list: async () => (await import("./webhooks.page.tsx")).WebhooksListPage,
  detail: async () => (await import("./webhook.page.tsx")).WebhookPage,
  create: { title: "Create a webhook", permission: "webhooks:write" },
  find: { path: "/tenants/webhooks" },
};
