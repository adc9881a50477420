import { haveSameFacts } from "@gatehouse/policy/effects/same-facts";
import type { FactChange } from "@gatehouse/policy/model/facts";
import type { Work } from "@gatehouse/policy/work";
import type { Clock } from "../../../platform/clock.ts";
import type { Database } from "../../../platform/db/database.ts";
import type { Evaluator } from "../../../platform/evaluation/evaluator.ts";
import { readGeneration } from "../../../platform/tenancy/generation.queries.ts";
import type { TenantTx } from "../../../platform/tenancy/tenant-tx.ts";
import { CachedModel, packedRecordsOf } from "./cached-model.ts";
import { readChangedFacts, readGatewayFacts } from "./facts.queries.ts";
import { listingOthers } from "./model-facts.ts";
import { PackedRecords } from "./packed/packed-records.ts";
import type { ModelSnapshots } from "./snapshots/model-snapshots.ts";
import { readSinceGeneration } from "./snapshots/snapshots.queries.ts";

/** Must be well below an hour: a snapshot is useless once the outbox no longer contains the next change. */
const changedAfterMs = 20 * 60_000;
/** Must be well below a day, after which files are deleted. */
const unchangedAfterMs = 12 * 60 * 60_000;

export interface StoredModelsOptions {
  readonly snapshots: ModelSnapshots;
  readonly database: Database;
  readonly evaluator: Evaluator;
  readonly clock: Clock;
  /** Receives the error of a snapshot that could not be stored. */
  readonly failed?: ((error: unknown, tenantId: string) => void) | undefined;
}

/** Stores models as snapshots, and applies later changes to loaded snapshots. */
export class StoredModels {
  readonly #options: StoredModelsOptions;
  /** The generation of each tenant's snapshot, and when it was stored by this process. */
  readonly #stored = new Map<string, { readonly generation: number; readonly at: number }>();

  constructor(options: StoredModelsOptions) {
    this.#options = options;
  }

  /** @returns undefined if there is no snapshot, or if the outbox no longer contains all changes since the snapshot */
  async load(tenantId: string): Promise<CachedModel | undefined> {
    const snapshot = await this.#options.snapshots.read(tenantId, (work) => this.#perform(tenantId, work));
    if (snapshot === undefined) return undefined;
    const { generation, chainHash } = snapshot.state;
    const since = await this.#read(tenantId, (tx) => readSinceGeneration(tx, generation));
    // After a restore from a backup, another state of the tenant may have the same generation.
    const isOfThisPast = since !== undefined && since.generation >= generation && since.chainHash === chainHash;
    if (!isOfThisPast) {
      await this.#options.snapshots.delete(tenantId);
      return undefined;
    }
    const stored = await this.#perform(tenantId, CachedModel.buildingPacked(generation, snapshot.facts));
    if (since.changes > stored.mostChanges) return undefined;
    // States of gateways are not part of the audit chain.
    const scope = { kind: "tenant", tenantId } as const;
    const [changed, gateways] = await this.#options.database.readThrough(scope, ({ query }) => {
      const tx = { tenantId, query };
      return Promise.all([readChangedFacts(tx, generation), readGatewayFacts(tx)]);
    });
    const current = await this.#perform(tenantId, stored.following(changed));
    if (current === undefined) return undefined;
    // If the tenant changed since, the snapshot is replaced soon: the outbox may be cleared before the next start.
    const isCurrent = current.generation === generation;
    this.#stored.set(tenantId, {
      generation,
      at: isCurrent ? this.#options.clock.elapsedMs() : Number.NEGATIVE_INFINITY,
    });
    const changes = gateways.flatMap((facts): FactChange[] =>
      haveSameFacts(facts, current.model.gateways.get(facts.id)) ? [] : [{ kind: "gateway", facts }],
    );
    return changes.length === 0 ? current : this.#perform(tenantId, current.changing(current.generation, changes));
  }

  /** Stores each model whose snapshot is missing or due to be replaced. */
  async storeDue(models: Iterable<readonly [tenantId: string, model: CachedModel]>): Promise<void> {
    for (const [tenantId, model] of models) {
      if (!this.#isDue(tenantId, model)) continue;
      // A snapshot that cannot be stored must not prevent those of other tenants.
      await this.#store(tenantId, model).catch((error: unknown) => this.#options.failed?.(error, tenantId));
    }
    await this.#options.snapshots.clean();
  }

  async delete(tenantId: string): Promise<void> {
    this.#stored.delete(tenantId);
    await this.#options.snapshots.delete(tenantId);
  }

  #isDue(tenantId: string, { generation, model }: CachedModel): boolean {
    if (packedRecordsOf(model) < this.#options.snapshots.fewestRecords) return false;
    const stored = this.#stored.get(tenantId);
    if (stored === undefined) return true;
    const ageMs = this.#options.clock.elapsedMs() - stored.at;
    return ageMs > (stored.generation === generation ? unchangedAfterMs : changedAfterMs);
  }

  async #store(tenantId: string, { generation, model }: CachedModel): Promise<void> {
    const since = await this.#read(tenantId, (tx) => readSinceGeneration(tx, generation));
    if (since === undefined || since.generation < generation || since.chainHash === null) return;
    const perform = <Result>(work: Work<Result>) => this.#perform(tenantId, work);
    const users = await perform(model.users.merging());
    const devices = await perform(model.devices.merging());
    const resources = await perform(model.resources.merging());
    if (!(users instanceof PackedRecords && devices instanceof PackedRecords && resources instanceof PackedRecords)) {
      return;
    }
    const others = await perform(listingOthers(model));
    const state = { tenantId, generation, chainHash: since.chainHash };
    await this.#options.snapshots.store({ state, facts: { users, devices, resources, others } });
    this.#stored.set(tenantId, { generation, at: this.#options.clock.elapsedMs() });
    // If the tenant was deleted meanwhile, its file may have been deleted before it was stored.
    if ((await this.#read(tenantId, readGeneration)) === undefined) await this.delete(tenantId);
  }

  #perform<Result>(tenantId: string, work: Work<Result>): Promise<Result> {
    return this.#options.evaluator.decide(tenantId, work);
  }

  #read<Result>(tenantId: string, work: (tx: TenantTx) => Promise<Result>): Promise<Result> {
    return this.#options.database.snapshot({ kind: "tenant", tenantId }, ({ query }) => work({ tenantId, query }));
  }
}
