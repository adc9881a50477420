/** The edits of the security review, made by hand with the rights of a superuser. */
import type pg from "pg";
import { entryHash, sealHash } from "../platform/audit/chain.ts";
import type { TestTenant } from "./test-server.ts";

/** Edits the record of a tenant with the rights of a superuser, like an attacker. */
export class RecordForger {
  readonly owner: pg.Client;
  readonly tenant: TestTenant;

  constructor(owner: pg.Client, tenant: TestTenant) {
    this.owner = owner;
    this.tenant = tenant;
  }

  async sql(text: string, ...values: unknown[]) {
    return (await this.owner.query(text, values)).rows;
  }

  /** @param change SQL for the new values of an entry */
  event(position: number, change: string): Promise<unknown> {
    return this.sql(
      `UPDATE audit_events SET ${change} WHERE tenant_id = $1 AND position = $2`,
      this.tenant.id,
      position,
    );
  }

  /** Deletes the entries from a position on, with their seals. */
  async deleteFrom(position: number): Promise<void> {
    await this.sql("DELETE FROM audit_events WHERE tenant_id = $1 AND position >= $2", this.tenant.id, position);
    await this.sql("DELETE FROM audit_seals WHERE tenant_id = $1 AND first_position >= $2", this.tenant.id, position);
  }

  /** Sets the counters to the end of what is left, and removes the effects and facts of what is gone. */
  async setCountersBack(): Promise<void> {
    await this.sql(
      `UPDATE tenant_generations AS counters SET event_count = last.first_position, generation = last.generation, chain_hash = last.hash
       FROM (SELECT * FROM audit_seals WHERE tenant_id = $1 ORDER BY generation DESC LIMIT 1) AS last WHERE counters.tenant_id = $1`,
      this.tenant.id,
    );
    for (const table of ["access_effects", "access_history"]) {
      await this.sql(
        `DELETE FROM ${table} WHERE tenant_id = $1 AND generation > (SELECT generation FROM tenant_generations WHERE tenant_id = $1)`,
        this.tenant.id,
      );
    }
  }

  deleteCheckpoints(): Promise<unknown> {
    return this.sql("DELETE FROM audit_checkpoints WHERE tenant_id = $1", this.tenant.id);
  }

  /** Recomputes every hash of the record, like an attacker who knows the scheme. */
  async reseal(): Promise<void> {
    const { body } = await this.tenant.client.get("/tenants/events?limit=100");
    const hashes = body.data.map((each: Parameters<typeof entryHash>[0]) => entryHash(each).toString("hex"));
    const seals = await this.sql(
      `SELECT generation::int, created_at, first_position::int AS first, octet_length(entry_hashes) / 32 AS count,
              encode(details, 'hex') AS details FROM audit_seals WHERE tenant_id = $1 ORDER BY generation`,
      this.tenant.id,
    );
    let hash = "0".repeat(64);
    for (const { generation, created_at, first, count, details } of seals) {
      const entryHashes = hashes.slice(first - 1, first - 1 + count);
      const seal = { generation, createdAt: created_at.toISOString(), firstPosition: first, entryHashes };
      hash = sealHash(hash, this.tenant.id, { ...seal, ...(details === null ? {} : { details }) });
      await this.sql(
        "UPDATE audit_seals SET entry_hashes = decode($3, 'hex'), hash = decode($4, 'hex') WHERE tenant_id = $1 AND generation = $2",
        this.tenant.id,
        generation,
        entryHashes.join(""),
        hash,
      );
    }
    await this.sql(
      "UPDATE tenant_generations SET chain_hash = decode($2, 'hex') WHERE tenant_id = $1",
      this.tenant.id,
      hash,
    );
  }

  /** Sets the positions of the PRIVATE policies, without the check of unique positions. */
  place(order: string): Promise<unknown> {
    return this.owner.query(
      `SET session_replication_role = replica;
       UPDATE policies SET "order" = ${order} WHERE tenant_id = '${this.tenant.id}' AND type = 'PRIVATE';
       SET session_replication_role = DEFAULT`,
    );
  }
}

export interface RecordEdit {
  /** The number in the review, and the edit. */
  readonly name: string;
  readonly edit: (forger: RecordForger) => Promise<unknown>;
  /** Whether the edit can be found without a head from outside the database, with --live. */
  readonly alone: boolean;
  /** A finding that there must be. */
  readonly message?: RegExp;
}

const privateOrder = /^The order of the PRIVATE policies is not as their entries left it/;

/** The edits of the security review. The tenant has a signed record through position 9, and an entry at position 10. */
export const recordEdits: readonly RecordEdit[] = [
  { name: "1: the JSON of an entry", alone: true, edit: (forger) => forger.event(7, 'after = \'{"name": "Forged"}\'') },
  { name: "2: the actor of an entry", alone: true, edit: (forger) => forger.event(7, "actor_name = 'Somebody else'") },
  {
    name: "3: an entry in the middle deleted",
    alone: true,
    edit: (forger) => forger.sql("DELETE FROM audit_events WHERE tenant_id = $1 AND position = 7", forger.tenant.id),
  },
  {
    name: "4: an entry in the middle deleted with its seal",
    alone: true,
    edit: async (forger) => {
      await forger.sql("DELETE FROM audit_events WHERE tenant_id = $1 AND position = 7", forger.tenant.id);
      await forger.sql("DELETE FROM audit_seals WHERE tenant_id = $1 AND first_position = 7", forger.tenant.id);
    },
  },
  { name: "5: the tail deleted with its seals", alone: true, edit: (forger) => forger.deleteFrom(9) },
  {
    name: "6: the tail deleted, and the counters set back",
    alone: true,
    edit: (forger) => forger.deleteFrom(9).then(() => forger.setCountersBack()),
  },
  { name: "7: all checkpoints deleted", alone: false, edit: (forger) => forger.deleteCheckpoints() },
  {
    name: "8: checkpoints and tail deleted, and the counters set back",
    alone: true,
    edit: (forger) =>
      forger
        .deleteFrom(8)
        .then(() => forger.setCountersBack())
        .then(() => forger.deleteCheckpoints()),
  },
  {
    name: "9: two entries swapped",
    alone: true,
    edit: async (forger) => {
      await forger.sql(
        "UPDATE audit_events SET position = -position WHERE tenant_id = $1 AND position IN (6, 8)",
        forger.tenant.id,
      );
      await forger.sql(
        "UPDATE audit_events SET position = 14 + position WHERE tenant_id = $1 AND position < 0",
        forger.tenant.id,
      );
    },
  },
  {
    name: "10: an entry inserted at the end",
    alone: true,
    edit: (forger) =>
      forger.sql(
        `INSERT INTO audit_events SELECT (jsonb_populate_record(item, jsonb_build_object('id', gen_random_uuid(), 'position', 11))).*
         FROM audit_events AS item WHERE tenant_id = $1 AND position = 10`,
        forger.tenant.id,
      ),
  },
  {
    name: "11: the record truncated with its checkpoints, and the counters at 0",
    alone: true,
    edit: async (forger) => {
      await forger.deleteFrom(1);
      await forger.deleteCheckpoints();
      for (const table of ["access_effects", "access_history"]) {
        await forger.sql(`DELETE FROM ${table} WHERE tenant_id = $1`, forger.tenant.id);
      }
      await forger.sql(
        `UPDATE tenant_generations SET event_count = 0, generation = 0, chain_hash = decode(repeat('00', 32), 'hex')
         WHERE tenant_id = $1`,
        forger.tenant.id,
      );
    },
  },
  {
    name: "12: the record truncated, and the counters as they were",
    alone: true,
    edit: (forger) => forger.deleteFrom(1).then(() => forger.deleteCheckpoints()),
  },
  {
    name: "13: a tenant deleted whole",
    alone: true,
    edit: (forger) => forger.sql("DELETE FROM tenants WHERE id = $1", forger.tenant.id),
  },
  {
    name: "14: the record rewritten with all hashes",
    alone: true,
    edit: (forger) => forger.event(7, 'after = \'{"name": "Forged"}\'').then(() => forger.reseal()),
  },
  {
    name: "15: a forged signature",
    alone: true,
    edit: (forger) =>
      forger.sql(
        "UPDATE audit_checkpoints SET signature = sha256('') || sha256('') WHERE tenant_id = $1",
        forger.tenant.id,
      ),
  },
  {
    name: "16: a stored effect",
    alone: true,
    edit: (forger) =>
      forger.sql(
        "UPDATE access_effects SET summary = '{}' WHERE tenant_id = $1 AND generation = (SELECT max(generation) FROM access_effects WHERE tenant_id = $1)",
        forger.tenant.id,
      ),
  },
  {
    name: "17: the access history",
    alone: true,
    edit: (forger) =>
      forger.sql("UPDATE access_history SET facts = NULL WHERE tenant_id = $1 AND kind = 'group'", forger.tenant.id),
  },
  {
    name: "18: the operator's events",
    alone: true,
    edit: (forger) =>
      forger.sql("UPDATE operator_events SET actor_name = 'Somebody else' WHERE tenant_id = $1", forger.tenant.id),
  },
  {
    name: "19: the time of an entry",
    alone: true,
    edit: (forger) => forger.event(7, "created_at = created_at - interval '1 day'"),
  },
  {
    name: "20: a live policy, without an entry",
    alone: true,
    edit: (forger) => forger.sql("UPDATE policies SET action = NOT action WHERE tenant_id = $1", forger.tenant.id),
  },
  {
    name: "23: the oldest entries behind a forged stub",
    alone: true,
    edit: async (forger) => {
      await forger.sql(
        `INSERT INTO audit_stubs SELECT tenant_id, 5, generation, hash, created_at, sha256('') || sha256('')
         FROM audit_seals WHERE tenant_id = $1 AND generation = 1`,
        forger.tenant.id,
      );
      await forger.sql("DELETE FROM audit_events WHERE tenant_id = $1 AND position <= 5", forger.tenant.id);
      await forger.sql("DELETE FROM audit_seals WHERE tenant_id = $1 AND generation = 1", forger.tenant.id);
      await forger.sql("UPDATE tenant_generations SET pruned_count = 5 WHERE tenant_id = $1", forger.tenant.id);
    },
  },
  {
    name: "24: laundered: rewritten with all hashes, and without the checkpoint",
    alone: false,
    edit: async (forger) => {
      await forger.event(9, 'after = \'{"name": "Harmless"}\'');
      await forger.reseal();
      await forger.deleteCheckpoints();
    },
  },
  {
    name: "25: two policies swapped",
    alone: true,
    edit: (forger) => forger.place('3 - "order"'),
    message: privateOrder,
  },
  { name: "26: all positions negated", alone: true, edit: (forger) => forger.place('-"order"'), message: privateOrder },
  {
    name: "27: two policies with one position",
    alone: true,
    edit: (forger) => forger.place("1"),
    message: privateOrder,
  },
  {
    name: "28: one policy moved behind another one",
    alone: true,
    edit: (forger) => forger.place(`"order" + CASE name WHEN 'Three' THEN 5 ELSE 0 END`),
    message: privateOrder,
  },
  {
    name: "29: the default policy moved",
    alone: true,
    edit: (forger) =>
      forger.sql(`UPDATE policies SET "order" = 0 WHERE tenant_id = $1 AND is_default`, forger.tenant.id),
    message: /^The order of the INTERNET policies is not as their entries left it/,
  },
];
