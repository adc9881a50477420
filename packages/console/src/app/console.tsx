/** The root component: providers, then the sign-in page or the shell. */

import { GatehouseError } from "@gatehouse/client/errors";
import { Center, Loader, MantineProvider } from "@mantine/core";
import { Notifications } from "@mantine/notifications";
import { QueryClient, QueryClientProvider, useQuery } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { useState } from "react";
import { t } from "../messages/i18n.ts";
import type { PageSet } from "./page-set.ts";
import { PageSetsProvider } from "./page-sets.ts";
import { ProblemNotice } from "./problem-notice.tsx";
import { createConsoleRouter } from "./router.tsx";
import { sessionQuery } from "./session.ts";
import { SessionEndDialog, SignInPage } from "./sign-in.tsx";
import { cssVariables, theme } from "./theme.ts";

function createQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: 5_000,
        // The API client retries requests that may succeed later.
        retry: false,
        throwOnError: false,
      },
    },
  });
}

interface ConsoleProps {
  readonly nonce: string;
  /** Every page, in the order of the navigation. */
  readonly pageSets: readonly PageSet[];
}

export function Console({ nonce, pageSets }: ConsoleProps) {
  const [queryClient] = useState(createQueryClient);
  return (
    <MantineProvider
      theme={theme}
      cssVariablesResolver={cssVariables}
      defaultColorScheme="auto"
      getStyleNonce={() => nonce}
    >
      <QueryClientProvider client={queryClient}>
        <Notifications position="bottom-right" />
        <PageSetsProvider value={pageSets}>
          <Entrance pageSets={pageSets} />
        </PageSetsProvider>
      </QueryClientProvider>
    </MantineProvider>
  );
}

function Entrance({ pageSets }: Pick<ConsoleProps, "pageSets">) {
  const session = useQuery(sessionQuery);
  const [router] = useState(() => createConsoleRouter(pageSets));
  if (session.isPending) {
    return (
      <Center h="100vh" component="main">
        <Loader aria-label={t("common.loading")} />
      </Center>
    );
  }
  if (session.error !== null && !(session.error instanceof GatehouseError && session.error.status === 401)) {
    return (
      <Center h="100vh" p="md" component="main">
        <ProblemNotice error={session.error} retry={() => session.refetch()} />
      </Center>
    );
  }
  if (!session.data) return <SignInPage />;
  return (
    <>
      <RouterProvider router={router} />
      <SessionEndDialog session={session.data} />
    </>
  );
}
