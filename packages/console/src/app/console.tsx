/** The root component: providers, then the sign-in page or the shell. */

import { GatehouseError } from "@gatehouse/client/errors";
import { Center, Loader, MantineProvider } from "@mantine/core";
import { QueryClient, QueryClientProvider, useQuery, useQueryClient } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { type ComponentType, useState } from "react";
import { t } from "../messages/i18n.ts";
import { deferred } from "./deferred.tsx";
import { enrolPath } from "./entrance/entrance-paths.ts";
import { SignInPage } from "./entrance/sign-in-page.tsx";
import { lazyPage } from "./lazy-page.tsx";
import { Notices } from "./notices.tsx";
import type { PageSet } from "./page-set.ts";
import { PageSetsProvider } from "./page-sets.ts";
import { ProblemNotice } from "./problem-notice.tsx";
import { createConsoleRouter } from "./router.tsx";
import { sessionQuery } from "./session.ts";
import { sessionEnd } from "./session-end.ts";
import type { Session } from "./session-requests.ts";
import { stepUp } from "./step-up.ts";
import { cssVariables, theme } from "./theme.ts";

const StepUpDialog = deferred(
  { subscribe: stepUp.subscribe, isOpen: stepUp.isWaiting },
  async () => (await import("./step-up-dialog.tsx")).StepUpDialog,
);
const SessionEndDialog = deferred<{ readonly session: Session }>(
  { subscribe: sessionEnd.subscribe, isOpen: sessionEnd.hasEnded },
  async () => (await import("./session-end-dialog.tsx")).SessionEndDialog,
);
const EnrolPage = lazyPage(async () => (await import("./enrol.tsx")).EnrolPage);
/** The pages without navigation on which a signed-in person answers a program, by their paths. */
const approvalPages: Readonly<Record<string, ComponentType>> = {
  "/console/authorize": lazyPage(async () => (await import("./authorize.tsx")).AuthorizePage),
  "/console/code": lazyPage(async () => (await import("./authorize.tsx")).DeviceCodePage),
};

function createQueryClient(session: Session | null | undefined): QueryClient {
  const queryClient = new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: 5_000,
        // The API client retries requests that may succeed later.
        retry: false,
        throwOnError: false,
      },
    },
  });
  if (session !== undefined) queryClient.setQueryData(sessionQuery.queryKey, session);
  return queryClient;
}

interface ConsoleProps {
  readonly nonce: string;
  /** Every page, in the order of the navigation. */
  readonly pageSets: readonly PageSet[];
  /** The session if it is known; null if nobody is signed in. */
  readonly session?: Session | null | undefined;
}

export function Console({ nonce, pageSets, session }: ConsoleProps) {
  const [queryClient] = useState(() => createQueryClient(session));
  return (
    <MantineProvider
      theme={theme}
      cssVariablesResolver={cssVariables}
      defaultColorScheme="auto"
      getStyleNonce={() => nonce}
    >
      <QueryClientProvider client={queryClient}>
        <Notices />
        <PageSetsProvider value={pageSets}>
          <Entrance pageSets={pageSets} />
        </PageSetsProvider>
      </QueryClientProvider>
    </MantineProvider>
  );
}

function Entrance({ pageSets }: Pick<ConsoleProps, "pageSets">) {
  const session = useQuery(sessionQuery);
  const queryClient = useQueryClient();
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
  if (globalThis.location.pathname === enrolPath) return <EnrolPage />;
  if (!session.data) {
    return <SignInPage done={(found) => void queryClient.setQueryData(sessionQuery.queryKey, found)} />;
  }
  const Approval = approvalPages[globalThis.location.pathname];
  return (
    <>
      {Approval === undefined ? <RouterProvider router={router} /> : <Approval />}
      <StepUpDialog />
      <SessionEndDialog session={session.data} />
    </>
  );
}
