/** The page that shows who can reach which resource and why: now, at another time, or on a date in the past. */
import { Group, Paper, Skeleton, Stack, Tabs, Text, Title } from "@mantine/core";
import { Link2 } from "lucide-react";
import { lazy, type ReactNode, Suspense, useEffect, useState } from "react";
import { CopyText } from "../../app/copy.tsx";
import { t } from "../../messages/i18n.ts";
import { exampleTime } from "../../records/date-time-field.tsx";
import { KindMark } from "../../records/kind-icon.tsx";
import { ScrollingTabs } from "../../records/scrolling-tabs.tsx";
import { hasOnlyCurrent, isDecision, isSingleHost, useAccessSearch, type View, views } from "./access-search.ts";
import type { QueryProps } from "./circumstances.tsx";
import { DecisionAnswer } from "./decision-answer.tsx";
import { FoundAnswer } from "./found-answer.tsx";
import { Question } from "./question.tsx";
import { SearchAnswer } from "./search-answer.tsx";

const GraphView = lazy(async () => ({ default: (await import("./graph/graph-view.tsx")).GraphView }));

export function AccessPage() {
  const { query, change } = useAccessSearch();
  const [isTimeUnreadable, setTimeUnreadable] = useState(false);
  useEffect(() => {
    document.title = t("common.documentTitle", { title: t("access.title") });
  }, []);
  return (
    <Stack>
      <Group justify="space-between">
        <Title order={1}>{t("access.title")}</Title>
        <CopyText text={window.location.href} variant="default" leftSection={<Link2 size={16} aria-hidden />}>
          {t("access.copyLink")}
        </CopyText>
      </Group>
      <Tabs
        value={query.view}
        onChange={(view) => view !== null && change({ view, config: undefined }, true)}
        keepMounted={false}
      >
        <ScrollingTabs tabs={views} selected={query.view} aria-label={t("access.view")} mb="md" />
        {views.map(({ value }) => (
          <Tabs.Panel key={value} value={value}>
            {value === "graph" ? (
              <Suspense fallback={<Skeleton height={420} aria-busy />}>
                <GraphView />
              </Suspense>
            ) : (
              <Stack>
                <Question query={query} change={change} onTimeUnreadable={setTimeUnreadable} />
                {isTimeUnreadable ? (
                  <NoAnswer>{t("access.query.timeUnreadable", { example: exampleTime })}</NoAnswer>
                ) : (
                  <Answer query={query} change={change} />
                )}
              </Stack>
            )}
          </Tabs.Panel>
        ))}
      </Tabs>
    </Stack>
  );
}

function promptFor(view: View, byAddress: boolean): string {
  if (view === "what") return t("access.query.chooseSubject");
  if (view === "who") return byAddress ? t("access.query.chooseAddress") : t("access.query.chooseResource");
  return byAddress ? t("access.query.chooseSubjectAndAddress") : t("access.query.chooseSubjectAndResource");
}

function NoAnswer({ children }: { readonly children: ReactNode }) {
  return (
    <Paper withBorder p="xl">
      <Stack align="center" gap="xs">
        <KindMark of="access" />
        <Text ta="center" c="dimmed">
          {children}
        </Text>
      </Stack>
    </Paper>
  );
}

function Answer({ query, change }: QueryProps) {
  const { view, user, device, byAddress, resource, address, at } = query;
  const hasSubject = user !== "" || device !== "";
  const hasDestination = byAddress ? isSingleHost(address) : resource !== "";
  if ((view !== "who" && !hasSubject) || (view !== "what" && !hasDestination)) {
    return <NoAnswer>{promptFor(view, byAddress)}</NoAnswer>;
  }
  if (isDecision(query)) return <DecisionAnswer query={query} />;
  if (hasOnlyCurrent(query)) return <SearchAnswer query={query} change={change} />;
  if (Date.parse(at) > Date.now()) {
    return <NoAnswer>{t("access.found.future", { view: t("access.views.can") })}</NoAnswer>;
  }
  return (
    <FoundAnswer
      query={query}
      turnTo={(page) => change({ page: page === 1 ? undefined : String(page) }, true)}
      useCurrent={() => change({ config: "current" }, true)}
    />
  );
}
