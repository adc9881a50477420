import type { FactChange } from "@gatehouse/policy/model/facts";
import type { Table } from "@gatehouse/policy/model/table";
import type { BackgroundTask } from "../../../platform/background-task.ts";
import type { Clock } from "../../../platform/clock.ts";
import { CoalescedTask } from "../../../platform/concurrency/coalesced-task.ts";
import type { Database } from "../../../platform/db/database.ts";
import type { Evaluator } from "../../../platform/evaluation/evaluator.ts";
import type { OutboxEntry } from "../../../platform/outbox/outbox.queries.ts";
import type { OutboxSubscriber } from "../../../platform/outbox/outbox-follower.ts";
import type { GenerationReader } from "../../../platform/tenancy/generation-reader.ts";
import type { TenantModel, TenantModels } from "../../../platform/tenancy/tenant-models.ts";
import type { TenantTx } from "../../../platform/tenancy/tenant-tx.ts";
import { readHistoryAt, readHistoryBounds } from "../history/history.queries.ts";
import { CachedModel, changesSettings } from "./cached-model.ts";
import { type FactPages, readDevicePages, readFactPages } from "./fact-pages.ts";
import { type GatewayLoad, readChangedFacts, readGatewayLoads } from "./facts.queries.ts";
import { PackedRecords } from "./packed/packed-records.ts";
import { PastModels } from "./past-models.ts";
import type { ModelSnapshots } from "./snapshots/model-snapshots.ts";
import { StoredModels } from "./stored-models.ts";

/**
 * The idle time after which a model is dropped, in milliseconds. It is much shorter than the retention of the outbox.
 */
const idleMs = 10 * 60_000;
/** A model that had the tenant's generation within this time, in milliseconds, is recent. */
const recentMs = 1_000;
/** The number of tenants whose models are cached at most. */
const mostModels = 200;
/** The number of facts that all cached models may have together. A single tenant may have more. */
const mostFacts = 1_000_000;

export interface ModelStoreOptions {
  readonly database: Database;
  readonly generations: GenerationReader;
  readonly clock: Clock;
  /** Builds models in slices. */
  readonly evaluator: Evaluator;
  /** Stores large models in files. */
  readonly snapshots?: ModelSnapshots | undefined;
  /** Receives the error of a snapshot that could not be stored. */
  readonly failed?: ((error: unknown, tenantId: string) => void) | undefined;
  /** The most records of a kind that one statement reads. */
  readonly pageSize?: number | undefined;
}

interface Entry {
  /** Undefined until the first load ends. */
  cached: CachedModel | undefined;
  readonly loading: CoalescedTask;
  /** The time of the last use, by `clock.elapsedMs()`. */
  usedAt: number;
  /** The last time at which the model had the tenant's generation, by `clock.elapsedMs()`. */
  currentAt: number;
  /** The last generation in the outbox. */
  followed: number;
}

/**
 * Caches tenants' models. Each request first reads the tenant's generation, in one statement that all requests of a
 * turn of the event loop share. If the model has another generation, its changes are read in one snapshot with their
 * outbox entries.
 */
export class ModelStore implements TenantModels, OutboxSubscriber {
  readonly #options: ModelStoreOptions;
  /** Ordered by use: the least recently used entry comes first. */
  readonly #entries = new Map<string, Entry>();

  readonly #past: PastModels;
  readonly #stored: StoredModels | undefined;

  /** The number of models built from all facts, and of models built from changes. */
  readonly loads = { whole: 0, changes: 0 };
  /** The number of models that were built from snapshots. */
  loadsFromSnapshots = 0;

  constructor(options: ModelStoreOptions) {
    this.#options = options;
    this.#past = new PastModels(options.evaluator);
    this.#stored =
      options.snapshots === undefined ? undefined : new StoredModels({ ...options, snapshots: options.snapshots });
  }

  get tasks(): readonly BackgroundTask[] {
    return [
      { name: "idle-models", intervalMs: 60_000, run: async () => this.dropIdle() },
      { name: "gateway-loads", intervalMs: 30_000, run: () => this.refreshLoads() },
      ...(this.#stored === undefined
        ? []
        : [{ name: "model-snapshots", intervalMs: 60_000, run: () => this.storeSnapshots() }]),
    ];
  }

  /** The tenants whose models are cached. */
  get tenants(): readonly string[] {
    return [...this.#entries.keys()];
  }

  /**
   * Returns a model to which the history of a command's transaction is added. Commands of a tenant that follow each
   * other need no query for it. Only facts that the history does not contain can be older than those of `current`.
   */
  async recent(tenantId: string): Promise<CachedModel> {
    const entry = this.#entries.get(tenantId);
    const cached = entry?.cached;
    if (entry === undefined || cached === undefined || cached.generation < entry.followed) {
      return this.current(tenantId);
    }
    if (this.#options.clock.elapsedMs() - entry.currentAt > recentMs) return this.current(tenantId);
    this.#use(tenantId);
    return cached;
  }

  /** The cached model, which may be older than the tenant. */
  cached(tenantId: string): CachedModel | undefined {
    return this.#entries.get(tenantId)?.cached;
  }

  async current(tenantId: string): Promise<CachedModel> {
    const askedAt = this.#options.clock.elapsedMs();
    const generation = await this.#options.generations.current(tenantId);
    // The tenant was just deleted, so nothing is allowed in it.
    if (generation === undefined) return emptyModel;
    const entry = this.#use(tenantId);
    // A load that began before this request may miss later commits. If it does, load again.
    while (entry.cached === undefined || entry.cached.generation < generation) {
      await entry.loading.runNow();
    }
    entry.currentAt = Math.max(entry.currentAt, askedAt);
    return entry.cached;
  }

  async at(tenantId: string, at: Date): Promise<TenantModel | { readonly begins: string }> {
    const current = await this.current(tenantId);
    const { begins, latest, held } = await this.#read(tenantId, (tx) => readHistoryBounds(tx, at));
    if (held === null) return { begins: begins ?? at.toISOString() };
    // No facts have changed since then.
    if (held === latest && held <= current.generation) return current;
    return this.#past.at(tenantId, held, () => this.#readThrough(tenantId, (tx) => readHistoryAt(tx, held)));
  }

  /** Caches the model that a command committed on this replica, so that the next request need not load it. */
  take(tenantId: string, model: CachedModel): void {
    const entry = this.#use(tenantId);
    if (entry.cached === undefined || entry.cached.generation < model.generation) {
      entry.cached = model;
      entry.currentAt = this.#options.clock.elapsedMs();
    }
    if (this.#entries.size > mostModels) this.#makeRoom();
  }

  changed({ tenantId, generation, changes }: OutboxEntry): void {
    const entry = this.#entries.get(tenantId);
    if (entry !== undefined) entry.followed = Math.max(entry.followed, generation);
    if (!changes.some(({ type, change }) => type === "tenant" && change === "deleted")) return;
    this.#entries.delete(tenantId);
    void this.#stored?.delete(tenantId);
  }

  /** Drops all models. After a restore from a backup, generations may have started over. */
  missed(): void {
    this.#entries.clear();
    this.#past.clear();
  }

  /** Stores snapshots of large models that changed since their last one. */
  async storeSnapshots(): Promise<void> {
    const models = [...this.#entries].flatMap(([tenantId, { cached }]) =>
      cached === undefined ? [] : [[tenantId, cached] as const],
    );
    await this.#stored?.storeDue(models);
  }

  /** Refreshes the loads of gateways, which are not in the outbox. Generations do not change. */
  async refreshLoads(): Promise<void> {
    const tenants = [...this.#entries]
      .filter(([, { cached }]) => (cached?.model.gateways.size ?? 0) > 0)
      .map(([id]) => id);
    if (tenants.length === 0) return;
    const loads = await this.#options.database.snapshot({ kind: "operator" }, (tx) => readGatewayLoads(tx, tenants));
    const byTenant = new Map<string, GatewayLoad[]>();
    for (const load of loads) {
      const own = byTenant.get(load.tenantId);
      if (own === undefined) byTenant.set(load.tenantId, [load]);
      else own.push(load);
    }
    for (const [tenantId, own] of byTenant) await this.#changeLoads(tenantId, own);
  }

  async #changeLoads(tenantId: string, loads: readonly GatewayLoad[]): Promise<void> {
    const entry = this.#entries.get(tenantId);
    const cached = entry?.cached;
    if (entry === undefined || cached === undefined) return;
    // All other facts must come from the model that is changed: an earlier model may have other gateways.
    const changes = loads.flatMap(({ gatewayId, load, roundTripTimeMs }): FactChange[] => {
      const facts = cached.model.gateways.get(gatewayId);
      if (facts === undefined || (facts.load === load && facts.roundTripTimeMs === roundTripTimeMs)) return [];
      return [{ kind: "gateway", facts: { ...facts, load, roundTripTimeMs } }];
    });
    if (changes.length === 0) return;
    const changed = await this.#options.evaluator.decide(tenantId, cached.changing(cached.generation, changes));
    // The next refresh repeats the changes if another model was cached meanwhile.
    if (entry.cached === cached) entry.cached = changed;
  }

  /** Drops models that were not used lately. */
  dropIdle(): void {
    const now = this.#options.clock.elapsedMs();
    for (const [tenantId, { usedAt }] of this.#entries) if (now - usedAt > idleMs) this.#entries.delete(tenantId);
  }

  #use(tenantId: string): Entry {
    const entry = this.#entries.get(tenantId) ?? this.#newEntry(tenantId);
    entry.usedAt = this.#options.clock.elapsedMs();
    this.#entries.delete(tenantId);
    this.#entries.set(tenantId, entry);
    return entry;
  }

  #newEntry(tenantId: string): Entry {
    const entry: Entry = {
      cached: undefined,
      loading: new CoalescedTask({ run: () => this.#load(tenantId, entry) }),
      usedAt: 0,
      currentAt: Number.NEGATIVE_INFINITY,
      followed: 0,
    };
    return entry;
  }

  async #load(tenantId: string, entry: Entry): Promise<void> {
    const { cached } = entry;
    const next = cached === undefined ? undefined : await this.#follow(tenantId, cached);
    if (next !== undefined) {
      this.loads.changes += 1;
      keepNewer(entry, next);
      return;
    }
    const stored = cached === undefined ? await this.#stored?.load(tenantId) : undefined;
    if (stored !== undefined) {
      this.loadsFromSnapshots += 1;
      keepNewer(entry, stored);
      this.#makeRoom();
      return;
    }
    const { generation, facts } = await this.#readAll(tenantId);
    this.loads.whole += 1;
    // If the tenant was deleted meanwhile, the model is empty and no generation follows it.
    const building = CachedModel.buildingPacked(generation ?? Number.POSITIVE_INFINITY, facts);
    keepNewer(entry, await this.#options.evaluator.decide(tenantId, building));
    this.#makeRoom();
  }

  #readAll(tenantId: string): ReturnType<typeof readFactPages> {
    return this.#readThrough(tenantId, (tx) => readFactPages(tx, this.#pagesFor(tenantId)));
  }

  #pagesFor(tenantId: string): FactPages {
    const { evaluator, pageSize } = this.#options;
    return { perform: (work) => evaluator.decide(tenantId, work), pageSize };
  }

  async #follow(tenantId: string, cached: CachedModel): Promise<CachedModel | undefined> {
    const { evaluator } = this.#options;
    const changed = await this.#read(tenantId, (tx) => readChangedFacts(tx, cached.generation, true));
    const needsDevices = changesSettings(changed.entries);
    if (!changed.isCut && !needsDevices) return evaluator.decide(tenantId, cached.following(changed));
    const [all, devices] = await this.#readThrough(tenantId, async (tx) => [
      await readChangedFacts(tx, cached.generation),
      needsDevices ? await readDevicePages(tx, this.#pagesFor(tenantId)) : undefined,
    ]);
    return evaluator.decide(tenantId, cached.following(all, devices));
  }

  #read<T>(tenantId: string, work: (tx: TenantTx) => Promise<T>): Promise<T> {
    return this.#options.database.snapshot({ kind: "tenant", tenantId }, ({ query }) => work({ tenantId, query }));
  }

  #readThrough<T>(tenantId: string, work: (tx: TenantTx) => Promise<T>): Promise<T> {
    return this.#options.database.readThrough({ kind: "tenant", tenantId }, ({ query }) => work({ tenantId, query }));
  }

  #makeRoom(): void {
    let facts = 0;
    for (const [index, [tenantId, { cached }]] of [...this.#entries].reverse().entries()) {
      facts += cached === undefined ? 0 : sizeOf(cached);
      if (index > 0 && (index >= mostModels || facts > mostFacts)) this.#entries.delete(tenantId);
    }
  }
}

/** Caches a loaded model, unless a command has committed a newer one meanwhile. */
function keepNewer(entry: Entry, loaded: CachedModel): void {
  if (entry.cached === undefined || entry.cached.generation <= loaded.generation) entry.cached = loaded;
}

function sizeOf({ model }: CachedModel): number {
  const policies = Object.values(model.policies).reduce((sum, list) => sum + list.policies.length, 0);
  return (
    sizeOfTable(model.users) + sizeOfTable(model.devices) + sizeOfTable(model.resources) + model.groups.size + policies
  );
}

/** The number of records. Records with large rows count as several. */
function sizeOfTable({ size, base }: Table<unknown>): number {
  return base instanceof PackedRecords ? Math.max(size, Math.ceil(base.bytes / bytesOfFact)) : size;
}

const bytesOfFact = 500;

const emptyModel = CachedModel.of(0, {
  users: [],
  groups: [],
  devices: [],
  gateways: [],
  resources: [],
  rules: [],
  policies: [],
});
