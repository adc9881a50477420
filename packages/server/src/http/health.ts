import type { FastifyInstance } from "fastify";
import { databaseUnavailable } from "../platform/db/database-errors.ts";

export interface HealthOptions {
  /** Rejects while the database cannot serve: away, or its migrations not applied. */
  readonly ready: () => Promise<void>;
}

/** For supervisors and load balancers: `/healthz` says the process lives, `/readyz` that it can serve. */
export function mountHealth(app: FastifyInstance, options: HealthOptions): void {
  app.get("/healthz", () => ({ status: "alive" }));
  app.get("/readyz", async () => {
    try {
      await options.ready();
    } catch (error) {
      throw databaseUnavailable(error);
    }
    return { status: "ready" };
  });
}
