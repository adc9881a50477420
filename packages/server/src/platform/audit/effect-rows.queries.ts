/** SQL that stores the facts and the effect of a command. The caller holds the lock of the generation. */

/**
 * SQL that inserts versions of facts.
 *
 * Versions travel as JSON: PostgreSQL estimates the same number of rows for every list, so it soon keeps one plan. With
 * arrays it would plan each execution.
 *
 * The tenant's id is read from a row, so that PostgreSQL plans for an average tenant. With statistics from before a
 * tenant was filled, it would expect no version of the tenant, choose the index of generations, and read all versions
 * of the tenant for each row.
 */
export const insertingVersions = (
  generation: string,
  versions: string,
) => `INSERT INTO access_history (tenant_id, kind, record, generation, first_generation, facts)
   SELECT $1, version.kind, version.record, ${generation}, coalesce((
       SELECT earlier.first_generation FROM access_history AS earlier
       WHERE earlier.tenant_id = owner.id AND earlier.kind = version.kind AND earlier.record = version.record
       ORDER BY earlier.generation DESC LIMIT 1
     ), ${generation}), version.facts
   FROM tenants AS owner, json_to_recordset(${versions}::json) AS version (kind text, record text, facts json)
   WHERE owner.id = $1`;

/** SQL that inserts the effect of a generation. The times of effects never decrease. */
export const insertingEffect = (
  generation: string,
  at: string,
  summary: string,
) => `INSERT INTO access_effects (tenant_id, generation, since, summary)
   SELECT $1, ${generation}, greatest(${at}, (
       SELECT latest.since FROM access_effects AS latest WHERE latest.tenant_id = $1 ORDER BY latest.generation DESC LIMIT 1
     )), ${summary}::json`;

/** SQL for the hash of a row of `access_effects`, as `access_record_hash` computes it. */
export const effectHash = `sha256(int8send(generation) || int8send((extract(epoch FROM since) * 1000)::bigint)
         || coalesce(sha256(convert_to(summary::text, 'UTF8')), ''::bytea))`;

/** SQL for the hash of a row of `access_history`, as `access_record_hash` computes it. */
export const versionHash = `sha256(sha256(convert_to(kind, 'UTF8')) || sha256(convert_to(record, 'UTF8'))
         || int8send(generation) || int8send(first_generation)
         || coalesce(sha256(convert_to(facts::text, 'UTF8')), ''::bytea))`;
