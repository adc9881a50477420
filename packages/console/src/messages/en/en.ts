/** The English catalogue: one file for each area of the console. */
import { accessTests } from "./access-tests.ts";
import { addresses } from "./addresses.ts";
import { admissionRules } from "./admission-rules.ts";
import { apiKeys } from "./api-keys.ts";
import { app } from "./app.ts";
import { common } from "./common.ts";
import { events } from "./events.ts";
import { groups } from "./groups.ts";
import { lists } from "./lists.ts";
import { overview } from "./overview.ts";
import { protocols } from "./protocols.ts";
import { records } from "./records.ts";
import { roles } from "./roles.ts";
import { users } from "./users.ts";
import { webhooks } from "./webhooks.ts";

export const en = {
  accessTests,
  addresses,
  admissionRules,
  apiKeys,
  app,
  common,
  events,
  groups,
  lists,
  overview,
  protocols,
  records,
  roles,
  users,
  webhooks,
} as const;
