import type { ResultOf } from "@gatehouse/client/calls";
import { Skeleton, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { api } from "../../app/api.ts";
import { useMay } from "../../app/session.ts";
import { Status } from "../../records/status.tsx";
import type { AccessTestState } from "./say-test.ts";

type Report = ResultOf<"/tenants/access-tests/check", "post">;

/** How all tests stand; asked once for whatever of a page shows it. */
export function useTestReport() {
  const may = useMay("decisions:read");
  const query = useQuery<Report>({
    queryKey: ["/tenants/access-tests/check"],
    enabled: may,
    queryFn: ({ signal }) => api.post("/tenants/access-tests/check", { body: {}, signal }),
  });
  return { may, ...query };
}

export function TestState({ id }: { readonly id: string }) {
  const { may, data, error } = useTestReport();
  if (!may || error !== null) return <Text c="dimmed">Not known</Text>;
  if (data === undefined) return <Skeleton height={14} width={80} />;
  const test = data.tests.find((each) => each.id === id);
  return test === undefined ? <Text c="dimmed">Not known</Text> : <StateOf state={test.state} />;
}

export function StateOf({ state: { holds, missing, brokenCount } }: { readonly state: AccessTestState }) {
  if (missing !== undefined) return <Status mood="waiting">{`The ${missing} is gone`}</Status>;
  return <Status mood={holds ? "good" : "bad"}>{holds ? "Holds" : `Broken for ${brokenCount}`}</Status>;
}
