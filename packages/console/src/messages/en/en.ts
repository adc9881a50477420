/** The English catalogue: one file for each area of the console. */
import { access } from "./access.ts";
import { app } from "./app.ts";
import { common } from "./common.ts";
import { devices } from "./devices.ts";
import { gateways } from "./gateways.ts";
import { graph } from "./graph.ts";
import { groups } from "./groups.ts";
import { lists } from "./lists.ts";
import { policies } from "./policies.ts";
import { records } from "./records.ts";
import { resources } from "./resources.ts";

export const en = {
  access,
  app,
  common,
  devices,
  gateways,
  graph,
  groups,
  lists,
  policies,
  records,
  resources,
} as const;
