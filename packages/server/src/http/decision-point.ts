import * as access from "@gatehouse/contract/operations/access.operations";
import type { FastifyInstance } from "fastify";
import { AppError } from "../platform/app-error.ts";

/** A host name or address with an optional port, and nothing that could break out of a URL's host. */
const hostForm = /^(?:[0-9A-Za-z._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::\d{1,5})?$/;

/**
 * Serves `/.well-known/authzen-configuration` without authentication: the endpoints of the decision point (AuthZEN
 * Authorization API 1.0, "Policy Decision Point Metadata"). Clients compare the identifier with the one they requested,
 * so it is derived from the Host header.
 */
export function mountDecisionPoint(app: FastifyInstance): void {
  app.get("/.well-known/authzen-configuration", (request, reply) => {
    const { protocol, host } = request;
    if (!hostForm.test(host)) {
      throw new AppError("invalid_parameter", {
        detail: "The Host header is not valid. Use a host name or an address.",
      });
    }
    const base = `${protocol}://${host}`;
    // The response depends on the host and must not be cached for another.
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
