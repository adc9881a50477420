import type { TenantFacts } from "@gatehouse/policy/model/facts";
import type { Model } from "@gatehouse/policy/model/model";
import { finish } from "@gatehouse/policy/work";
import { listingOthers } from "../features/access/models/model-facts.ts";

/** All facts of a model. */
export function listedFacts(model: Model): TenantFacts {
  const factsOf = <Facts>(records: Iterable<{ readonly facts: Facts }>) => [...records].map(({ facts }) => facts);
  return {
    users: factsOf(model.users.values()),
    devices: factsOf(model.devices.values()),
    resources: factsOf(model.resources.values()),
    ...finish(listingOthers(model)),
  };
}
