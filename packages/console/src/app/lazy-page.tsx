/**
 * Pages whose code loads when they are first shown. If that fails, the frame of the console stays until the server
 * answers, and the tab is then loaded again. A browser does not import a module a second time after a failure (HTML,
 * "fetch a single module script"), and a tab that is loaded without a server is lost.
 */
import { Button, Group, Skeleton, Stack, Text } from "@mantine/core";
import { type ComponentType, useEffect, useState } from "react";
import { t } from "../messages/i18n.ts";
import { Warning } from "./warning.tsx";

const probeMs = 3_000;
/** After a reload, the same page is not reloaded for this long without being asked, in milliseconds. */
const reloadPauseMs = 60_000;

type Problem = "no-server" | "new-version" | "not-loaded";

export function lazyPage(load: () => Promise<ComponentType>, reload = () => globalThis.location.reload()) {
  let loaded: ComponentType | undefined;
  const loadOnce = async () => {
    loaded ??= await load();
    return loaded;
  };
  function LazyPage() {
    const [page, setPage] = useState(loaded === undefined ? undefined : { Page: loaded });
    const [attempt, setAttempt] = useState(0);
    const [problem, setProblem] = useState<Problem>();
    // biome-ignore lint/correctness/useExhaustiveDependencies: each attempt loads
    useEffect(() => {
      if (page !== undefined) return;
      let timer: ReturnType<typeof setTimeout> | undefined;
      let isCurrent = true;
      loadOnce().then(
        (Page) => isCurrent && setPage({ Page }),
        async () => {
          const found = await problemOf();
          if (!isCurrent) return;
          if (found !== "no-server" && mayReload()) {
            reload();
            return;
          }
          setProblem(found);
          if (found === "no-server") timer = setTimeout(() => setAttempt((now) => now + 1), probeMs);
        },
      );
      return () => {
        isCurrent = false;
        clearTimeout(timer);
      };
    }, [attempt, page]);
    if (page !== undefined) return <page.Page />;
    if (problem !== undefined) {
      const retry = () => (problem === "no-server" ? setAttempt((now) => now + 1) : reload());
      return <NotLoaded problem={problem} retry={retry} />;
    }
    return (
      <Stack aria-busy>
        <Skeleton height={28} width={260} />
        <Skeleton height={240} />
      </Stack>
    );
  }
  // The router calls this when a link is pointed at. The page itself reports a failure.
  LazyPage.preload = () => loadOnce().then(ignore, ignore);
  return LazyPage;
}

function ignore(): void {}

/** Why the code of a page could not be loaded. */
async function problemOf(): Promise<Problem> {
  const script = document.querySelector<HTMLScriptElement>("script[type=module][src]")?.getAttribute("src");
  try {
    const response = await fetch("/console/", { cache: "no-store" });
    if (!response.ok) return "no-server";
    const isSame = script === null || script === undefined || (await response.text()).includes(script);
    return isSame ? "not-loaded" : "new-version";
  } catch {
    return "no-server";
  }
}

/** Whether this page was not reloaded a moment ago. It notes the reload that follows. */
function mayReload(): boolean {
  const key = "gatehouse.reloaded";
  const { pathname } = globalThis.location;
  const now = Date.now();
  try {
    const [path, at] = JSON.parse(sessionStorage.getItem(key) ?? "[]");
    if (path === pathname && now - at < reloadPauseMs) return false;
    sessionStorage.setItem(key, JSON.stringify([pathname, now]));
    return true;
  } catch {
    // Without storage, a reload could follow a reload for ever.
    return false;
  }
}

interface NotLoadedProps {
  readonly problem: Problem;
  readonly retry: () => void;
}

function NotLoaded({ problem, retry }: NotLoadedProps) {
  const isNew = problem === "new-version";
  return (
    <Warning role="alert" maw={720} title={isNew ? t("app.lazy.newVersion.title") : t("app.lazy.noServer.title")}>
      <Text size="sm">{t(texts[problem])}</Text>
      <Group mt="sm">
        <Button size="xs" variant={isNew ? "filled" : "default"} onClick={retry}>
          {problem === "no-server" ? t("app.problem.retry") : t("app.lazy.reload")}
        </Button>
      </Group>
    </Warning>
  );
}

const texts = {
  "no-server": "app.lazy.noServer.text",
  "new-version": "app.lazy.newVersion.text",
  "not-loaded": "app.lazy.notLoaded.text",
} as const;
