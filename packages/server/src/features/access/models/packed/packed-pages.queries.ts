/** Pages of users and devices as text. PostgreSQL writes the rows, so that the driver need not create their objects. */
import { type Statement, statement } from "../../../../platform/db/statement.ts";
import { deviceSessionEnd, deviceSessionFacts } from "../../../devices/devices.api.ts";

/** The rows of a page, in the order of ids. */
export interface PageOfRows {
  readonly rows: string;
  readonly count: number;
  /** The id of the last row. Null if there are none. */
  readonly last: string | null;
}

export type PackedKind = "users" | "devices";
export const packedKinds = ["users", "devices"] as const satisfies readonly PackedKind[];

type PageStatement = Statement<PageOfRows, [tenantId: string, afterId: string]>;

/** Sessions are looked up device by device, so this is done only if the tenant has any. */
const hasSessions = "(SELECT EXISTS (SELECT FROM device_sessions WHERE tenant_id = $1))";
const hasSessionLimits = `(SELECT EXISTS (
    SELECT FROM tenant_settings WHERE tenant_id = $1 AND device_session_lifetime IS NOT NULL
  ) OR EXISTS (SELECT FROM groups WHERE tenant_id = $1 AND device_session_lifetime IS NOT NULL))`;

/**
 * SQL for the rows of a page, in the formats of `packed-facts.ts`. `array_to_json` of several texts is much cheaper
 * than a conversion of each.
 */
const selections: Readonly<Record<PackedKind, (page: string) => string>> = {
  users: (page) => `SELECT item.id,
      '[' || array_to_json(ARRAY[item.id::text, item.email, item.first_name, item.last_name, item.status])
        || ',' || item.attributes || ',"' || coalesce(member.groups, '') || '"]' AS row
    FROM (${page}) AS item
    LEFT JOIN (
      SELECT user_id, string_agg(group_id::text, ' ') AS groups FROM group_members
      WHERE tenant_id = $1 AND user_id > $2 AND user_id <= (SELECT page.id FROM (${page}) AS page ORDER BY page.id DESC LIMIT 1)
      GROUP BY user_id
    ) AS member ON member.user_id = item.id`,
  devices: (page) => `SELECT item.id,
      '[' || array_to_json(ARRAY[item.id::text, item.user_id::text, item.name, item.os, item.os_version,
                                 item.app_version, item.hardware_id])
        || CASE WHEN item.active THEN ',true,' ELSE ',false,' END
        || CASE WHEN item.tags = '{}' THEN '[]' ELSE array_to_json(item.tags)::text END
        || CASE WHEN item.agent THEN ',true,' ELSE ',false,' END
        || coalesce(item.posture::text, '{}') || ','
        || coalesce(CASE WHEN ${hasSessions} THEN ${deviceSessionFacts("item")}::text END, 'null') || ','
        || coalesce(CASE WHEN ${hasSessions} OR ${hasSessionLimits}
             THEN (extract(epoch FROM ${deviceSessionEnd("item")}) * 1000)::float8::text END, 'null')
        || ']' AS row
    FROM (${page}) AS item`,
};

const known = new Map<number, Readonly<Record<PackedKind, PageStatement>>>();

/**
 * The statements that read a page of each kind after an id. Their text contains the page size, so that PostgreSQL plans
 * for it.
 */
export function packedPageStatements(pageSize: number): Readonly<Record<PackedKind, PageStatement>> {
  const made = known.get(pageSize) ?? {
    users: pageStatement("users", pageSize),
    devices: pageStatement("devices", pageSize),
  };
  known.set(pageSize, made);
  return made;
}

function pageStatement(kind: PackedKind, pageSize: number): PageStatement {
  const page = `SELECT * FROM ${kind} WHERE tenant_id = $1 AND id > $2 ORDER BY id LIMIT ${Math.floor(pageSize)}`;
  return statement(
    `access.packed_page_of_${pageSize}_${kind}`,
    `SELECT coalesce(string_agg(made.row, E'\\n'), '') AS rows, count(*) AS count, max(made.id::text) AS last
     FROM (${selections[kind](page)} ORDER BY item.id) AS made`,
  );
}
