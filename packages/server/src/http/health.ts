import type { FastifyInstance } from "fastify";
import { databaseUnavailable } from "../platform/db/database-errors.ts";

export interface HealthOptions {
  /** Rejects while the database is unavailable or its migrations are not applied. */
  readonly ready: () => Promise<void>;
}

/**
 * Serves `/healthz` (the process is alive) and `/readyz` (the server can handle requests) for supervisors and load
 * balancers.
 */
export function mountHealth(app: FastifyInstance, options: HealthOptions): void {
  app.get("/healthz", (_request, reply) => reply.header("cache-control", "no-store").send({ status: "alive" }));
  app.get("/readyz", async (_request, reply) => {
    reply.header("cache-control", "no-store"); // including the error
    try {
      await options.ready();
    } catch (error) {
      throw databaseUnavailable(error);
    }
    return { status: "ready" };
  });
}
