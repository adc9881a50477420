import * as access from "@gatehouse/contract/operations/access.operations";
import type { FastifyInstance } from "fastify";
import { AppError } from "../platform/app-error.ts";

/** A host name or an address, and a port: nothing that could end the host and begin something else. */
const hostForm = /^(?:[0-9A-Za-z._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::\d{1,5})?$/;

/**
 * `/.well-known/authzen-configuration`, public: where the endpoints of the decision point are (AuthZEN Authorization API 1.0, "Policy
 * Decision Point Metadata"). Clients compare the identifier with the one that they asked by, so it is made of the host they named.
 */
export function mountDecisionPoint(app: FastifyInstance): void {
  app.get("/.well-known/authzen-configuration", (request, reply) => {
    const { protocol, host } = request;
    if (!hostForm.test(host)) {
      throw new AppError("invalid_parameter", { detail: "The header Host must be a host name or an address." });
    }
    const base = `${protocol}://${host}`;
    // It differs by host: whoever keeps it for one must not tell it another.
    return reply.header("Cache-Control", "no-store").send({
      policy_decision_point: base,
      access_evaluation_endpoint: base + access.evaluateAccess.path,
      access_evaluations_endpoint: base + access.evaluateAccessBatch.path,
      search_subject_endpoint: base + access.searchSubjects.path,
      search_resource_endpoint: base + access.searchResources.path,
      search_action_endpoint: base + access.searchActions.path,
    });
  });
}
