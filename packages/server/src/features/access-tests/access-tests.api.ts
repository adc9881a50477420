/** What other features may ask of access tests. */
export { accessTestGuard } from "./access-test-guard.ts";
export { readQuestions } from "./access-tests.queries.ts";
export { accessTestStateView } from "./access-tests.view.ts";
export { type BrokenTest, brokenTests } from "./broken-tests.ts";
export { circumstancesOf } from "./test-states.ts";
export { readCircumstances } from "./validate-access-test.ts";
