import type * as operations from "@gatehouse/contract/operations/previews.operations";
import { defaultPreviewRows } from "@gatehouse/contract/operations/previews.operations";
import type { AccessPreview, PreviewedTest } from "@gatehouse/contract/records/preview";
import { comparingAccess } from "@gatehouse/policy/effects/compare-access";
import type { OpenCircumstances } from "@gatehouse/policy/effects/open-circumstances";
import type { Model } from "@gatehouse/policy/model/model";
import type { Work } from "@gatehouse/policy/work";
import type { Call } from "../../platform/call.ts";
import { type Outcome, report } from "../../platform/outcome.ts";
import { accessRows, effectSummary } from "../access/access.api.ts";
import {
  accessTestStateView,
  type BrokenTest,
  brokenTests,
  circumstancesOf,
  readCircumstances,
  readQuestions,
} from "../access-tests/access-tests.api.ts";
import { performChanges, preparePreview } from "../changes/changes.api.ts";

export async function previewAccess(call: Call<typeof operations.previewAccess>): Promise<Outcome> {
  const { context = {}, page: { limit = defaultPreviewRows, offset = 0 } = {} } = call.body;
  const changes = preparePreview(call, call.body.changes);
  const circumstances: OpenCircumstances = circumstancesOf(readCircumstances(context));
  // No other command of the tenant can run meanwhile, so end the transaction as soon as everything was read.
  const { look, tests } = await call.runDry(async (batch) => {
    await performChanges(call, changes, batch);
    const [read, questions] = await Promise.all([batch.look(), readQuestions(batch.tx, "all")]);
    return { look: read, tests: questions };
  });
  const change = look();
  const [before, after] = [change.before.model, change.after.model];
  const impact = await call.evaluate(
    "The impact of these changes",
    (function* (): Work<Omit<AccessPreview, "generation">> {
      const difference = yield* comparingAccess(before, after, change.changes, circumstances);
      const { brokenTests: _none, ...summary } = yield* effectSummary(difference, before, after, []);
      const broken = yield* brokenTests(tests, before, after, change.changes);
      const rows = yield* accessRows(difference, before, after, { limit, offset });
      return { ...summary, rows: [...rows], brokenTests: broken.map((test) => testView(test, after)) };
    })(),
  );
  const body: AccessPreview = { generation: change.before.generation, ...impact };
  // Another command may hold the last database connection, so compute the answer before the command starts.
  return call.idempotency === undefined ? report(body) : call.command(async () => report(body));
}

function testView({ test: { id, name, enforced }, result }: BrokenTest, after: Model): PreviewedTest {
  const { brokenCount, broken } = accessTestStateView(result, after);
  return { id, name, enforced, brokenCount, broken };
}
