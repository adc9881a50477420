/** The first line of the overview: whether everything works, and how many records there are. */
import { Anchor, Paper, Skeleton, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { Fragment } from "react";
import { formatNumber, listParts } from "../../messages/format.ts";
import { t } from "../../messages/i18n.ts";
import { RichText } from "../../messages/rich-text.tsx";
import { unreachablePath, useFindings } from "../../records/access-findings.ts";
import { useAwaitingCount } from "../../records/awaiting-devices.ts";
import { RecordLink } from "../../records/record-link.tsx";
import { Status } from "../../records/status.tsx";
import {
  mostDevices,
  useGateways,
  useLastDevices,
  useResourceCount,
  useTestResults,
  useUserCount,
} from "./overview-queries.ts";

export function Summary() {
  const { data: gateways, isLoading: loadsGateways } = useGateways();
  const { data: devices, isLoading: loadsDevices } = useLastDevices();
  const { data: users, isLoading: loadsUsers } = useUserCount();
  const { data: resources, isLoading: loadsResources } = useResourceCount();
  const { data: findings, isLoading: loadsFindings } = useFindings();
  const { data: tests, isLoading: loadsTests } = useTestResults();
  const { data: awaiting = 0 } = useAwaitingCount();
  const online = devices?.data.filter(({ status }) => status === "Online").length ?? 0;
  const up = gateways?.filter(({ status }) => status === "ONLINE").length ?? 0;
  const numbers = [
    { to: "/users", label: t("users.title"), isLoading: loadsUsers, value: users, note: undefined },
    {
      to: "/devices",
      label: t("devices.title"),
      isLoading: loadsDevices,
      value: devices?.total,
      note: t("overview.summary.online", {
        online: online === mostDevices ? t("overview.devices.orMore", { count: mostDevices }) : formatNumber(online),
      }),
    },
    {
      to: "/gateways",
      label: t("gateways.title"),
      isLoading: loadsGateways,
      value: gateways?.length,
      note: t("overview.summary.online", { online: formatNumber(up) }),
    },
    {
      to: "/resources",
      label: t("resources.title"),
      isLoading: loadsResources,
      value: resources,
      note: undefined,
    },
    {
      to: "/policies",
      label: t("policies.title"),
      isLoading: loadsFindings,
      value: findings?.neverMatchingPolicies.total,
      note: t("overview.summary.besidesDefault"),
    },
  ].filter(({ isLoading, value }) => isLoading || value !== undefined);
  if (numbers.length === 0) return null;
  const problems = [
    ["gateways", "/gateways", gateways?.filter(({ status }) => status === "ERROR" || status === "OFFLINE").length ?? 0],
    ["resources", unreachablePath, findings?.unreachableResources.count ?? 0],
    ["closed", "/addresses", findings?.closedAddresses.count ?? 0],
    ["diverted", "/addresses", findings?.divertedAddresses.count ?? 0],
    ["tests", "/access-tests", tests?.summary.broken ?? 0],
    ["approvals", "/device-approvals", awaiting],
  ] as const;
  const found = problems.flatMap(([kind, to, count]) =>
    count === 0 ? [] : [{ to, text: t(`overview.summary.${kind}`, { count }) }],
  );
  const isEmpty = gateways?.length === 0 || findings?.unreachableResources.total === 0;
  return (
    <Paper withBorder p="md" component="section" aria-label={t("overview.summary.title")} className="summary">
      {loadsGateways || loadsFindings || loadsTests ? (
        <Skeleton height={24} width={240} aria-busy />
      ) : (
        <div className="verdict">
          {found.length > 0 ? (
            <Status tone={found.length === 1 && awaiting > 0 ? "waiting" : "bad"}>
              <RichText message="overview.summary.problems" elements={{ problems: <Problems found={found} /> }} />
            </Status>
          ) : isEmpty ? (
            <Status tone="idle">{t("overview.summary.nothing")}</Status>
          ) : (
            <Status tone="good">{t("overview.summary.works")}</Status>
          )}
        </div>
      )}
      <ul>
        {numbers.map(({ to, label, isLoading, value, note }) => (
          <li key={to}>
            <Anchor component={Link} to={to} underline="never" c="inherit">
              <Text span size="sm" c="dimmed">
                {label}
              </Text>
              <strong>{isLoading ? "…" : formatNumber(value ?? 0)}</strong>
              {note !== undefined && !isLoading && (
                <Text span size="sm" c="dimmed">
                  {note}
                </Text>
              )}
            </Anchor>
          </li>
        ))}
      </ul>
    </Paper>
  );
}

interface ProblemsProps {
  readonly found: readonly { readonly to: string; readonly text: string }[];
}

/** Problems as one text, each with a link to the records that have it. */
function Problems({ found }: ProblemsProps) {
  const targets = found.map(({ to }) => to);
  return listParts(found.map(({ text }) => text)).map(({ type, value }, index) => {
    const to = type === "element" ? targets.shift() : undefined;
    return (
      // biome-ignore lint/suspicious/noArrayIndexKey: separators are equal, and the order is fixed
      <Fragment key={index}>
        {to === undefined ? (
          value
        ) : (
          <RecordLink to={to} inText>
            {value}
          </RecordLink>
        )}
      </Fragment>
    );
  });
}
