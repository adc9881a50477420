/** The access that the commands of a dry run would grant and remove. */
import type { Operation } from "@gatehouse/contract/operation";
import { defaultPreviewRows } from "@gatehouse/contract/operations/previews.operations";
import type { AccessPreview, PreviewedTest } from "@gatehouse/contract/records/preview";
import { newlySharedAddresses } from "@gatehouse/policy/decisions/shared-addresses";
import { comparingAccess } from "@gatehouse/policy/effects/compare-access";
import type { OpenCircumstances } from "@gatehouse/policy/effects/open-circumstances";
import type { Model } from "@gatehouse/policy/model/model";
import type { Work } from "@gatehouse/policy/work";
import type { Call } from "../../platform/call.ts";
import type { CommandBatch } from "../../platform/command-batch.ts";
import { accessRows, effectSummary, sharedAddressView } from "../access/access.api.ts";
import {
  accessTestStateView,
  type BrokenTest,
  brokenTests,
  circumstancesOf,
  readQuestions,
} from "../access-tests/access-tests.api.ts";

interface PreviewPage {
  readonly limit?: number;
  readonly offset?: number;
}

/**
 * Computes the preview after the transaction has ended.
 *
 * @throws AppError evaluation_too_expensive, evaluation_rate_exceeded
 */
export type ComputePreview = (
  call: Call<Operation>,
  circumstances?: OpenCircumstances,
  page?: PreviewPage,
) => Promise<AccessPreview>;

/** Reads everything that the preview of the commands so far needs. */
export async function readAccessPreview(batch: CommandBatch): Promise<ComputePreview> {
  const [computing, tests] = await Promise.all([batch.readImpact(), readQuestions(batch.tx, "all")]);
  return async (call, circumstances = circumstancesOf({}), { limit = defaultPreviewRows, offset = 0 } = {}) => {
    // Like every model of a tenant, these count towards no budget.
    const change = await call.evaluateAlways(computing);
    const [before, after] = [change.before.model, change.after.model];
    const impact = await call.evaluate(
      "The impact of these changes",
      (function* (): Work<Omit<AccessPreview, "generation">> {
        const difference = yield* comparingAccess(before, after, change.changes, circumstances);
        const { brokenTests: _none, ...summary } = yield* effectSummary(difference, before, after, []);
        const broken = yield* brokenTests(tests, before, after, change.changes);
        const rows = yield* accessRows(difference, before, after, { limit, offset });
        const shared = yield* newlySharedAddresses(change.changes, before, after);
        return {
          ...summary,
          rows: [...rows],
          brokenTests: broken.map((test) => testView(test, after)),
          ...(shared.length === 0 ? {} : { sharedAddresses: shared.map(sharedAddressView) }),
        };
      })(),
    );
    return { generation: change.before.generation, ...impact };
  };
}

function testView({ test: { id, name, enforced }, result }: BrokenTest, after: Model): PreviewedTest {
  const { brokenCount, broken } = accessTestStateView(result, after);
  return { id, name, enforced, brokenCount, broken };
}
