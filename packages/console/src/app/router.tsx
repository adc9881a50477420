/** The route of every page. The code of a page is loaded when the page is first shown. */
import { Button, Stack } from "@mantine/core";
import { createRootRoute, createRoute, createRouter, Link, Navigate, redirect } from "@tanstack/react-router";
import { t } from "../messages/i18n.ts";
import { lazyPage } from "./lazy-page.tsx";
import { PageHead } from "./page-head.tsx";
import type { PageSet } from "./page-set.ts";
import { ProblemNotice } from "./problem-notice.tsx";
import { useIsVisitor } from "./session.ts";
import { Shell } from "./shell.tsx";

const root = createRootRoute({ component: Shell, notFoundComponent: NotFound, errorComponent: Failed });

const start = createRoute({ getParentRoute: () => root, path: "/", component: Start });

/** The page that people signed in on before it became a part of `/my`. */
const account = createRoute({
  getParentRoute: () => root,
  path: "/account",
  beforeLoad: () => {
    throw redirect({ to: "/my" });
  },
});

export function createConsoleRouter(pageSets: readonly PageSet[]) {
  const routes = pageSets.flatMap(({ path, list, detail }) => [
    createRoute({ getParentRoute: () => root, path: `/${path}`, component: lazyPage(list) }),
    ...(detail === undefined
      ? []
      : [createRoute({ getParentRoute: () => root, path: `/${path}/$id`, component: lazyPage(detail) })]),
  ]);
  return createRouter({
    routeTree: root.addChildren([start, account, ...routes]),
    basepath: "/console",
    defaultPreload: "intent",
    scrollRestoration: false,
    // Plain strings, so that an address is easy to read and to write by hand.
    parseSearch: (text) => Object.fromEntries(new URLSearchParams(text)),
    stringifySearch: (search) => {
      const given = Object.entries(search).filter(([, value]) => value !== undefined && value !== "");
      const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
      return text === "" ? "" : `?${text}`;
    },
  });
}

/** People without permissions land on their own page: they could read nothing on the others. */
function Start() {
  return <Navigate to={useIsVisitor() ? "/my" : "/overview"} replace />;
}

function NotFound() {
  return (
    <Stack align="flex-start">
      <PageHead title={t("app.notFound.title")}>{t("app.notFound.text")}</PageHead>
      <Button component={Link} to="/">
        {t("app.notFound.back")}
      </Button>
    </Stack>
  );
}

function Failed({ error, reset }: { readonly error: unknown; readonly reset: () => void }) {
  return <ProblemNotice error={error} retry={reset} />;
}
