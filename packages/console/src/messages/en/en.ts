/** The English catalogue: one file for each area of the console. */
import { app } from "./app.ts";
import { common } from "./common.ts";
import { groups } from "./groups.ts";
import { lists } from "./lists.ts";
import { records } from "./records.ts";

export const en = { app, common, groups, lists, records } as const;
