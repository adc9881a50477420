/** Finds the operations of requests inside a request, and validates those requests as if they had been sent. */
import type { FoundRequest, RequestFinder } from "../platform/call.ts";
import type { RequestTarget } from "../platform/inner-request.ts";
import { isSmall } from "../platform/json-slices.ts";
import { canonicalIds, checkStringIds, checkUuids, type PathParameters } from "./path-parameters.ts";
import type { Route } from "./route.ts";
import { type BodyChecks, compileBodyCheck, findNul, requireNoNul } from "./validation.ts";

interface KnownRoute extends Route {
  readonly segments: readonly string[];
  readonly bodyChecks: BodyChecks;
}

/** @param routes that a request inside another can use */
export function plannedRequests(routes: readonly Route[]): RequestFinder {
  const known = routes
    .map(
      (route): KnownRoute => ({
        ...route,
        segments: route.operation.path.split("/"),
        bodyChecks: compileBodyCheck(route.operation),
      }),
    )
    // `/tenants/policies/reorder` takes precedence over `/tenants/policies/{id}`.
    .sort((one, other) => parameterCount(one) - parameterCount(other));
  return {
    find({ method, path }) {
      const segments = readSegments(path);
      if (segments === undefined) return undefined;
      for (const route of known) {
        if (route.operation.method !== method) continue;
        const parameters = match(route.segments, segments);
        if (parameters !== undefined) return foundRequest(route, canonicalIds(parameters));
      }
      return undefined;
    },
  };
}

function parameterCount({ operation }: KnownRoute): number {
  return Object.keys(operation.parameters ?? {}).length;
}

function foundRequest({ operation, handler, bodyChecks }: KnownRoute, parameters: PathParameters): FoundRequest {
  return {
    operation,
    *check(body) {
      checkUuids(operation, parameters);
      if (isSmall(body)) {
        const text = body === undefined ? "" : JSON.stringify(body);
        yield text.length / 4;
        bodyChecks.check(body, text.length);
        requireNoNul(body, text);
      } else {
        yield* bodyChecks.checkLarge(body);
        yield* findNul(body);
      }
      return { parameters, body: body ?? (operation.bodyOptional === true ? {} : undefined) };
    },
    perform(call) {
      checkStringIds(operation, parameters);
      return handler(call);
    },
  };
}

/** The decoded segments of a path; undefined for an invalid path. */
function readSegments(path: RequestTarget["path"]): readonly string[] | undefined {
  try {
    return path.split("/").map(decodeURIComponent);
  } catch {
    return undefined;
  }
}

function match(pattern: readonly string[], segments: readonly string[]): PathParameters | undefined {
  if (pattern.length !== segments.length) return undefined;
  const parameters: Record<string, string> = {};
  for (const [index, part] of pattern.entries()) {
    const segment = segments[index] ?? "";
    const [, name] = /^\{(\w+)\}$/.exec(part) ?? [];
    if (name === undefined) {
      if (segment !== part) return undefined;
    } else if (segment === "") return undefined;
    else parameters[name] = segment;
  }
  return parameters;
}
