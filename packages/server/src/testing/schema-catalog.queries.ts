/** Describes a database's schema as text, so that two schemas can be compared. */
import type pg from "pg";

/** The privileges in an access control list, or the defaults of its owner. */
const grants = (list: string, kind: string, owner: string) =>
  `(SELECT string_agg(format('%s to %s', privilege_type,
      CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END), ', ' ORDER BY grantee, privilege_type)
    FROM aclexplode(coalesce(${list}, acldefault('${kind}', ${owner}))))`;

const selectDescription = `
  WITH relations AS (SELECT * FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind <> 'i')
  SELECT format('relation %s: kind %s, persistence %s, options %s, row security %s, forced %s, owner %s, %s', relname,
           relkind, relpersistence, reloptions, relrowsecurity, relforcerowsecurity, relowner::regrole,
           ${grants("relacl", "r", "relowner")}) AS line
  FROM relations
  UNION ALL
  SELECT format('column %s.%s: number %s, %s, not null %s, collation %s, generated "%s", identity "%s", default %s, grants %s',
           relname, attname, attnum, format_type(atttypid, atttypmod), attnotnull,
           (SELECT collname FROM pg_collation WHERE pg_collation.oid = attcollation), attgenerated, attidentity,
           (SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = attrelid AND adnum = attnum), attacl)
  FROM pg_attribute JOIN relations ON relations.oid = attrelid WHERE attnum > 0 AND NOT attisdropped
  UNION ALL
  SELECT format('constraint %s.%s: %s, valid %s', relname, conname, pg_get_constraintdef(pg_constraint.oid), convalidated)
  FROM pg_constraint JOIN relations ON relations.oid = conrelid
  UNION ALL
  SELECT format('index %s, valid %s', pg_get_indexdef(indexrelid), indisvalid)
  FROM pg_index JOIN relations ON relations.oid = indrelid
  UNION ALL
  SELECT format('policy %s.%s: for %s, permissive %s, to %s, using %s, check %s', relname, polname, polcmd, polpermissive,
           polroles::regrole[], pg_get_expr(polqual, polrelid), pg_get_expr(polwithcheck, polrelid))
  FROM pg_policy JOIN relations ON relations.oid = polrelid
  UNION ALL
  SELECT format('trigger %s, enabled %s', pg_get_triggerdef(pg_trigger.oid), tgenabled)
  FROM pg_trigger JOIN relations ON relations.oid = tgrelid WHERE NOT tgisinternal
  UNION ALL
  SELECT format('function %s, owner %s, %s',
           regexp_replace(regexp_replace(pg_get_functiondef(oid), '--[^\\n]*', '', 'g'), '\\s+', ' ', 'g'),
           proowner::regrole, ${grants("proacl", "f", "proowner")})
  FROM pg_proc WHERE pronamespace = 'public'::regnamespace
  UNION ALL
  SELECT format('type %s: kind %s', typname, typtype) FROM pg_type WHERE typnamespace = 'public'::regnamespace
  UNION ALL
  SELECT format('comment on %s %s: %s', classoid::regclass, coalesce(relname, objoid::text), description)
  FROM pg_description LEFT JOIN relations ON relations.oid = objoid
  WHERE objoid IN (SELECT oid FROM relations UNION SELECT indexrelid FROM pg_index JOIN relations ON relations.oid = indrelid
    UNION SELECT pg_constraint.oid FROM pg_constraint JOIN relations ON relations.oid = conrelid
    UNION SELECT pg_policy.oid FROM pg_policy JOIN relations ON relations.oid = polrelid
    UNION SELECT pg_trigger.oid FROM pg_trigger JOIN relations ON relations.oid = tgrelid
    UNION SELECT oid FROM pg_proc WHERE pronamespace = 'public'::regnamespace)
  UNION ALL
  SELECT format('extension %s', extname) FROM pg_extension
  UNION ALL
  SELECT format('schema %s: %s', nspname, ${grants("nspacl", "n", "nspowner")})
  FROM pg_namespace WHERE nspname NOT LIKE 'pg_%' AND nspname <> 'information_schema'
  UNION ALL
  SELECT format('default privileges in %s for %s: %s', defaclnamespace, defaclrole, defaclacl) FROM pg_default_acl
  ORDER BY line`;

/**
 * The schema of the client's database, one object per line in a fixed order: relations, columns, constraints, indexes,
 * policies, triggers, functions, types, comments and privileges. Comments inside functions are left out.
 */
export async function describeSchema(client: pg.Client): Promise<readonly string[]> {
  const { rows } = await client.query<{ line: string }>(selectDescription);
  return rows.map(({ line }) => line);
}

/** The rows of every table of the public schema except the record of migrations, as JSON texts. */
export async function readAllRows(client: pg.Client): Promise<ReadonlyMap<string, readonly Record<string, unknown>[]>> {
  const tables = await client.query<{ name: string }>(
    `SELECT relname AS name FROM pg_class
     WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND relname <> 'schema_migrations' ORDER BY relname`,
  );
  const contents = new Map<string, readonly Record<string, unknown>[]>();
  for (const { name } of tables.rows) {
    const { rows } = await client.query<{ row: Record<string, unknown> }>(
      `SELECT to_jsonb(item) AS row FROM ${name} AS item ORDER BY to_jsonb(item)::text`,
    );
    contents.set(
      name,
      rows.map(({ row }) => row),
    );
  }
  return contents;
}
