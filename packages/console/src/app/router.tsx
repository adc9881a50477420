/** Which page stands at which path. Each page's code is loaded when it is first shown. */
import { Button, Stack, Text, Title } from "@mantine/core";
import {
  createRootRoute,
  createRoute,
  createRouter,
  Link,
  lazyRouteComponent,
  type RouteComponent,
  redirect,
} from "@tanstack/react-router";
import type { ComponentType } from "react";
import { pageSets } from "../pages/all.ts";
import { ProblemNotice } from "./problem-notice.tsx";
import { Shell } from "./shell.tsx";

const root = createRootRoute({ component: Shell, notFoundComponent: NotFound, errorComponent: Failed });

const start = createRoute({
  getParentRoute: () => root,
  path: "/",
  beforeLoad: () => {
    throw redirect({ to: "/overview" });
  },
});

const routes = pageSets.flatMap(({ path, list, detail }) => [
  createRoute({ getParentRoute: () => root, path: `/${path}`, component: later(list) }),
  ...(detail === undefined
    ? []
    : [createRoute({ getParentRoute: () => root, path: `/${path}/$id`, component: later(detail) })]),
]);

function later(load: () => Promise<ComponentType>): RouteComponent {
  return lazyRouteComponent(async () => ({ default: await load() }));
}

export function createConsoleRouter() {
  return createRouter({
    routeTree: root.addChildren([start, ...routes]),
    basepath: "/console",
    defaultPreload: "intent",
    scrollRestoration: false,
    // Plain texts: what one sees in the address is what one would write into it.
    parseSearch: (text) => Object.fromEntries(new URLSearchParams(text)),
    stringifySearch: (search) => {
      const given = Object.entries(search).filter(([, value]) => value !== undefined && value !== "");
      const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
      return text === "" ? "" : `?${text}`;
    },
  });
}

function NotFound() {
  return (
    <Stack align="flex-start">
      <Title order={1}>There is no such page</Title>
      <Text>The address may be mistyped, or what stood here was moved.</Text>
      <Button component={Link} to="/">
        To the start
      </Button>
    </Stack>
  );
}

function Failed({ error, reset }: { readonly error: unknown; readonly reset: () => void }) {
  return <ProblemNotice error={error} retry={reset} />;
}
