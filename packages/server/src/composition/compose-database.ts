import type { Clock } from "../platform/clock.ts";
import { type Connection, Database, type DatabaseOptions } from "../platform/db/database.ts";
import { NotificationChannel } from "../platform/db/notifications.ts";
import type { Log } from "../platform/log.ts";
import { OutboxFollower } from "../platform/outbox/outbox-follower.ts";

export interface DatabaseSettings {
  readonly connection: Connection;
  readonly poolSize: number;
  /** 32 bytes; encrypts stored secrets. */
  readonly masterKey: Buffer;
  /** Time limits that differ from the defaults. */
  readonly databaseLimits?: Pick<DatabaseOptions, "statementTimeoutMs" | "answerTimeoutMs" | "connectTimeoutMs">;
}

interface DatabaseDependencies extends Pick<DatabaseOptions, "onQuery" | "onUse"> {
  readonly clock: Clock;
  readonly log: Log;
}

export interface DatabaseParts {
  readonly database: Database;
  readonly follower: OutboxFollower;
  /** Notifies every replica of new entries in the outbox. */
  readonly channel: NotificationChannel;
  /** Begins to follow the outbox. */
  open(): Promise<void>;
  /** Stops following the outbox, and closes all connections. */
  close(): Promise<void>;
}

/** The connections to the database, and the outbox of changes in it. */
export function composeDatabase(
  settings: DatabaseSettings,
  { clock, log, onQuery, onUse }: DatabaseDependencies,
): DatabaseParts {
  const { connection, poolSize, masterKey, databaseLimits } = settings;
  let isClosing = false;
  const database = new Database({
    connection,
    poolSize,
    masterKey,
    ...databaseLimits,
    onQuery,
    onUse,
    onIdleError(error) {
      // If PostgreSQL stops together with the server, it may end idle connections before the pool does.
      if (!isClosing) log.warn({ err: error }, "database connection lost");
    },
  });
  const follower = new OutboxFollower({ database, clock, log });
  const channel = new NotificationChannel(connection, "gatehouse_outbox", () => follower.wake());
  return {
    database,
    follower,
    channel,
    async open() {
      await follower.start();
      await channel.open();
    },
    async close() {
      isClosing = true;
      await follower.stop();
      await channel.close();
      await database.close();
    },
  };
}
