/** Public API of this feature: access tests. */
export { accessTestGuard } from "./access-test-guard.ts";
export { readAccessTest, readAccessTests, readQuestions } from "./access-tests.queries.ts";
export { accessTestStateView, accessTestView } from "./access-tests.view.ts";
export { type BrokenTest, brokenTests } from "./broken-tests.ts";
export { circumstancesOf } from "./evaluate-tests.ts";
export { readCircumstances } from "./validate-access-test.ts";
