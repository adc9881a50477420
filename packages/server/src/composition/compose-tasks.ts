import {
  clearFormerMailCounts,
  MailSender,
  SmtpServer,
  type SmtpSettings,
  tenantsWithFormerMailCounts,
} from "../features/mail/mail.api.ts";
import { deliverWebhooks, type WebhookDeliverySettings } from "../features/webhooks/webhooks.api.ts";
import { sealHistory } from "../platform/audit/seal-history.ts";
import { signCheckpoints } from "../platform/audit/sign-checkpoints.ts";
import type { BackgroundTask } from "../platform/background-task.ts";
import type { Clock } from "../platform/clock.ts";
import type { CommandRunner } from "../platform/command.ts";
import { TenantRounds } from "../platform/concurrency/tenant-rounds.ts";
import type { Connection } from "../platform/db/database.ts";
import { clearExpiredReplies, tenantsWithExpiredReplies } from "../platform/idempotency.queries.ts";
import { JobQueue } from "../platform/jobs/job-queue.ts";
import type { Log } from "../platform/log.ts";
import { clearOutbox, outboxKeptForMs } from "../platform/outbox/outbox.queries.ts";
import type { OutboxFollower } from "../platform/outbox/outbox-follower.ts";
import { SteadyClock } from "../platform/steady-clock.ts";
import type { Metrics } from "../platform/telemetry/metrics.ts";
import { clearingTask } from "../tasks/clear-tenants.ts";
import { RecordPruning } from "../tasks/prune-records.ts";
import { Reconciler } from "../tasks/reconciler.ts";
import { masterKeyRotation, masterKeyRotationName } from "../tasks/rotate-master-key.ts";

export interface AuditSettings {
  /** The time between two signatures of the audit chains, in seconds. */
  readonly checkpointSeconds: number;
  /** How many days entries are retained; undefined for ever. */
  readonly retentionDays: number | undefined;
}

export interface WebhookSettings extends Partial<WebhookDeliverySettings> {
  /** Addresses and CIDRs that webhooks may lead to in addition to the internet; none if absent. */
  readonly networks?: readonly string[];
  /** False leaves deliveries to other replicas. */
  readonly deliver?: boolean;
  /** The time between two searches for due deliveries, in milliseconds. */
  readonly intervalMs?: number;
}

/** The rotation of the master key, if a second one is configured. */
export interface MasterKeySettings {
  /** 32 bytes; encrypts stored secrets. */
  readonly masterKey: Buffer;
  /** Decrypts only, during a rotation of the master key. */
  readonly secondMasterKey?: Buffer | undefined;
  /** Called once the second key is not needed any more. Absent if a person removes it. */
  readonly rotated?: (() => Promise<void>) | undefined;
}

/** The SMTP server, and the address that mails come from. */
export interface MailSettings {
  readonly smtp: SmtpSettings;
  readonly from: string;
  /** The mails of a tenant per day. */
  readonly perTenant: number;
  /** The time between two searches for due mails, in milliseconds. */
  readonly intervalMs?: number;
}

export interface TaskSettings extends MasterKeySettings {
  readonly connection: Connection;
  readonly audit?: AuditSettings;
  readonly webhooks?: WebhookSettings;
  readonly mail?: MailSettings | undefined;
}

interface TaskDependencies {
  readonly runner: CommandRunner;
  readonly follower: OutboxFollower;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics | undefined;
  /** The tasks of the other parts of the server. */
  readonly tasks: readonly BackgroundTask[];
}

export interface TaskParts {
  readonly reconcilers: readonly Reconciler[];
  /** Waits for the runs that are in progress. */
  stop(): Promise<void>;
}

const minuteMs = 60_000;
/** How long mails that are being sent can take when the server stops, in milliseconds. */
const graceMs = 2_000;
const disableWebhooksAfterMs = 3 * 24 * 60 * minuteMs;

/** Starts the background work of the server. */
export async function composeTasks(settings: TaskSettings, dependencies: TaskDependencies): Promise<TaskParts> {
  const { log, metrics } = dependencies;
  const newReconciler = (task: BackgroundTask) => new Reconciler({ ...task, log, failed: metrics?.taskFailed });
  const stopping = new AbortController();
  const tasks = [
    ...auditTasks(settings, dependencies),
    ...dependencies.tasks,
    ...retentionTasks(dependencies),
    ...rotationTasks(settings, dependencies),
    ...mailTasks(settings, dependencies, stopping.signal),
  ];
  const webhooks = await startWebhooks(settings, dependencies, newReconciler);
  const reconcilers = [...tasks.map(newReconciler), ...webhooks.reconcilers];
  for (const reconciler of reconcilers) reconciler.start();
  reconcilers.find(({ name }) => name === masterKeyRotationName)?.wake();
  return {
    reconcilers,
    async stop() {
      setTimeout(() => stopping.abort(), graceMs).unref();
      await Promise.all([...reconcilers.map((reconciler) => reconciler.stop()), webhooks.jobs?.stop()]);
    },
  };
}

function auditTasks({ audit }: TaskSettings, { runner, clock, log }: TaskDependencies): BackgroundTask[] {
  const { database } = runner;
  const { keys, guard } = runner.audit;
  const { checkpointSeconds, retentionDays } = audit ?? { checkpointSeconds: 60, retentionDays: undefined };
  const sealing = rareRounds(log, "failed to seal the access history of a tenant; will retry");
  const signing = rareRounds(log, "failed to sign the head of an audit record; will retry");
  const checkpoints = {
    name: "audit-checkpoints",
    intervalMs: checkpointSeconds * 1_000,
    run: async () => {
      try {
        await sealHistory(runner, clock, sealing);
      } finally {
        // A record whose history cannot be sealed must not block the signing of others.
        await signCheckpoints({ database, keys, guard, clock, log, rounds: signing });
      }
    },
    stop: async () => {
      await Promise.all([sealing.stop(), signing.stop()]);
    },
  };
  if (retentionDays === undefined) return [checkpoints];
  const steadyClock = new SteadyClock({ database, clock, log });
  const pruning = new RecordPruning({ runner, clock, steadyClock, log, retentionDays });
  const observation = { name: "clock-observation", intervalMs: minuteMs, run: () => steadyClock.observe() };
  const retention = {
    name: "audit-retention",
    intervalMs: 60 * minuteMs,
    run: () => pruning.run(),
    stop: () => pruning.stop(),
  };
  return [checkpoints, observation, retention];
}

function rareRounds(log: Log, failed: string): TenantRounds {
  return new TenantRounds({ log, failed, isRare: true });
}

function retentionTasks({ runner: { database }, clock, log }: TaskDependencies): BackgroundTask[] {
  return [
    {
      name: "outbox-retention",
      intervalMs: 10 * minuteMs,
      run: () => clearOutbox(database, new Date(clock.now().getTime() - outboxKeptForMs)),
    },
    clearingTask({
      name: "reply-retention",
      intervalMs: 10 * minuteMs,
      database,
      log,
      failed: "failed to delete the expired replies of a tenant; will retry",
      tenantsWith: tenantsWithExpiredReplies,
      clear: clearExpiredReplies,
    }),
    clearingTask({
      name: "mail-count-retention",
      intervalMs: 60 * minuteMs,
      database,
      log,
      failed: "failed to delete the email counts of a tenant; will retry",
      tenantsWith: (tx) => tenantsWithFormerMailCounts(tx, clock.now()),
      clear: (tx, tenantId) => clearFormerMailCounts(tx, tenantId, clock.now()),
    }),
  ];
}

function rotationTasks(
  { masterKey: current, secondMasterKey: second, rotated: finished }: TaskSettings,
  { runner: { database }, log }: TaskDependencies,
): BackgroundTask[] {
  return masterKeyRotation({ database, masterKeys: { current, second }, finished, log });
}

function mailTasks({ mail }: TaskSettings, { runner, log }: TaskDependencies, signal: AbortSignal): BackgroundTask[] {
  if (mail === undefined) return [];
  const { intervalMs = 1_000 } = mail;
  const sender = new MailSender({ runner, server: new SmtpServer(mail.smtp, mail.from), log, signal, intervalMs });
  return [{ name: "mail", intervalMs, run: () => sender.run() }];
}

interface WebhookParts {
  /** Undefined if other replicas make the deliveries. */
  readonly jobs: JobQueue | undefined;
  readonly reconcilers: readonly Reconciler[];
}

async function startWebhooks(
  { connection, audit, webhooks: { deliver = true, intervalMs = 1_000, networks: _, ...settings } = {} }: TaskSettings,
  { runner, follower, clock, log, metrics }: TaskDependencies,
  newReconciler: (task: BackgroundTask) => Reconciler,
): Promise<WebhookParts> {
  if (!deliver) return { jobs: undefined, reconcilers: [] };
  const jobs = new JobQueue({ connection, log, pollIntervalMs: intervalMs });
  await jobs.start();
  const { disableAfterMs = disableWebhooksAfterMs } = settings;
  // Events that wait must not be pruned before their webhook is disabled, which the audit record reports.
  const behindAfterMs = Math.min(disableAfterMs, ((audit?.retentionDays ?? Infinity) / 2) * 24 * 60 * minuteMs);
  const delivery = { disableAfterMs, behindAfterMs, attempted: metrics?.webhookAttempted, ...settings };
  const dispatcher = deliverWebhooks({ runner, follower, clock, jobs, log, settings: delivery }, () =>
    dispatching.wake(),
  );
  const stop = () => dispatcher.stop();
  const dispatching = newReconciler({ name: "webhook-dispatch", intervalMs, run: () => dispatcher.run(), stop });
  return {
    jobs,
    reconcilers: [
      dispatching,
      newReconciler({ name: "webhook-log", intervalMs: 10 * minuteMs, run: () => dispatcher.clearLog() }),
      newReconciler({ name: "jobs", intervalMs: 10 * minuteMs, run: () => jobs.maintain() }),
    ],
  };
}
