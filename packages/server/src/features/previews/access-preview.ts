/** The access that the commands of a dry run would grant and remove. */
import { defaultPreviewRows } from "@gatehouse/contract/operations/previews.operations";
import type { AccessPreview, PreviewedTest } from "@gatehouse/contract/records/preview";
import { compareAccess } from "@gatehouse/policy/effects/compare-access";
import type { OpenCircumstances } from "@gatehouse/policy/effects/open-circumstances";
import type { Model } from "@gatehouse/policy/model/model";
import type { CommandBatch } from "../../platform/command-batch.ts";
import { accessRows, effectSummary } from "../access/access.api.ts";
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

/** Computes the preview after the transaction has ended. */
export type ComputePreview = (circumstances?: OpenCircumstances, page?: PreviewPage) => Promise<AccessPreview>;

/** Reads everything that the preview of the commands so far needs. */
export async function readAccessPreview(batch: CommandBatch): Promise<ComputePreview> {
  const [look, tests] = await Promise.all([batch.look(), readQuestions(batch.tx, "all")]);
  return async (circumstances = circumstancesOf({}), { limit = defaultPreviewRows, offset = 0 } = {}) => {
    const change = look();
    const [before, after] = [change.before.model, change.after.model];
    const difference = compareAccess(before, after, change.changes, circumstances);
    const { brokenTests: _none, ...summary } = effectSummary(difference, before, after, []);
    const broken = await brokenTests(tests, before, after, change.changes);
    return {
      generation: change.before.generation,
      ...summary,
      rows: [...accessRows(difference, before, after, { limit, offset })],
      brokenTests: broken.map((test) => testView(test, after)),
    };
  };
}

function testView({ test: { id, name, enforced }, result }: BrokenTest, after: Model): PreviewedTest {
  const { brokenCount, broken } = accessTestStateView(result, after);
  return { id, name, enforced, brokenCount, broken };
}
