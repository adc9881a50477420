import { Code, Group, Skeleton, Stack, Table, Text } from "@mantine/core";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { api } from "../../app/api.ts";
import { ProblemNotice } from "../../app/problem-notice.tsx";
import { capitalize, formatOwnZone, formatWeekTime } from "../../messages/format.ts";
import { t } from "../../messages/i18n.ts";
import { RichText } from "../../messages/rich-text.tsx";
import { DivertedAddresses } from "../../records/diverted-addresses.tsx";
import { RecordLink, RecordLinks } from "../../records/record-link.tsx";
import { Facts, Panel } from "../../records/record-page.tsx";
import { ExactTime } from "../../records/relative-time.tsx";
import { SharedAddresses } from "../../records/shared-addresses.tsx";
import { PolicyAction, Status } from "../../records/status.tsx";
import { formatCondition } from "../admission-rules/format-condition.ts";
import { type AccessSearch, circumstancesOf, destinationOf } from "./access-search.ts";
import {
  type Condition,
  type Considered,
  type Decision,
  formatMatches,
  formatOutcome,
  formatReason,
  type NearestMiss,
} from "./format-access.ts";
import { MissingFacts } from "./missing-facts.tsx";
import { nextOpening, type Opening, zoneOf } from "./next-opening.ts";
import { Observed } from "./observed.tsx";
import { OfflineGateways, PostureNote } from "./obstacles.tsx";
import { useResource } from "./use-resource.ts";
import { UsedConfiguration } from "./used-configuration.tsx";

interface DecisionAnswerProps {
  readonly query: AccessSearch;
  /** Shown below the answer if access is allowed. @param policy the id of the policy that allows it */
  readonly allowed?: (policy: string) => ReactNode;
}

/** The decision, the evaluated policies, and the unmet requirements. */
export function DecisionAnswer({ query, allowed }: DecisionAnswerProps) {
  const { user, device } = query;
  const body = {
    subject: user === "" ? { type: "device", id: device } : { type: "user", id: user },
    action: { name: "connect" },
    resource: destinationOf(query),
    context: {
      explain: true,
      ...(user === "" || device === "" ? {} : { deviceId: device }),
      ...circumstancesOf(query),
    },
  };
  const { data, error, refetch, isPlaceholderData } = useQuery({
    queryKey: ["/access/v1/evaluation", body],
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) => api.post("/access/v1/evaluation", { signal, body }),
  });
  if (error !== null) return <ProblemNotice error={error} retry={refetch} />;
  if (data === undefined) return <Skeleton height={200} aria-busy />;
  // The API denies an address that it cannot parse.
  if (data.context.reason === "invalid_address") return <Text role="alert">{t("access.query.addressInvalid")}</Text>;
  return (
    <Stack aria-busy={isPlaceholderData} style={{ opacity: isPlaceholderData ? 0.6 : 1 }}>
      <Verdict decision={data} query={query} from={query.at === "" ? new Date() : new Date(query.at)} />
      {data.decision && data.context.policy !== undefined && allowed?.(data.context.policy.id)}
      <Policies decision={data} query={query} />
    </Stack>
  );
}

/** The id of the resource that the decision is about; empty if there is none. */
function resourceOf({ context }: Decision, { byAddress, resource }: AccessSearch): string {
  return context.resource?.id ?? (byAddress ? "" : resource);
}

interface VerdictProps {
  readonly decision: Decision;
  readonly query: AccessSearch;
  /** The time of the request. */
  readonly from: Date;
}

function Verdict({ decision: answer, query, from }: VerdictProps) {
  const { decision, context } = answer;
  const { byAddress, user, device } = query;
  const { reason, reasons, policy, resource, gateways, explanation } = context;
  const changesAt = explanation?.changesAt;
  const resourceId = resourceOf(answer, query);
  // Each device has its own order of gateways that devices are spread over.
  const isSpread = useResource(resourceId)?.loadBalancingMode === "AUTOMATIC" && (gateways ?? []).length > 1;
  const isUnreachable = reasons.includes("no_reachable_gateway");
  const miss = explanation?.nearestMiss;
  const rule = explanation?.policies.find((considered) => considered.policy.id === miss?.policy?.id)?.rule;
  const opening = decision ? undefined : openingOf(rule?.conditions ?? [], miss, changesAt, from);
  return (
    <Panel title={t("access.decision.title")}>
      <Stack gap="sm">
        <Group gap="md">
          <Text fw={700} component="div" className="verdict">
            {isUnreachable ? (
              <Status tone="waiting">{t("access.decision.unreachable")}</Status>
            ) : (
              <Status tone={decision ? "good" : "bad"}>
                {decision ? t("access.decision.allowed") : t("access.decision.denied")}
              </Status>
            )}
          </Text>
          <Text>{[...new Set([reason, ...reasons])].map(formatReason).join(" ")}</Text>
        </Group>
        <UsedConfiguration at={query.at} isCurrent />
        <Facts
          facts={[
            ...(policy === undefined
              ? []
              : [
                  {
                    label: t("access.decision.fields.policy"),
                    value: <RecordLink to={`/policies/${policy.id}`}>{policy.name}</RecordLink>,
                  },
                ]),
            ...(byAddress && resource !== undefined
              ? [
                  {
                    label: t("access.decision.fields.resource"),
                    value: <RecordLink to={`/resources/${resource.id}`}>{resource.name}</RecordLink>,
                  },
                ]
              : []),
            ...(gateways === undefined || !decision || isUnreachable
              ? []
              : [
                  {
                    label:
                      isSpread && device !== ""
                        ? t("access.decision.fields.gatewaysOfDevice")
                        : t("access.decision.fields.gateways"),
                    value: (
                      <>
                        <RecordLinks path="gateways" records={gateways} />
                        {isSpread && (
                          <Text span inherit c="dimmed">
                            {` ${t("access.found.spread")}`}
                          </Text>
                        )}
                      </>
                    ),
                  },
                ]),
            ...(changesAt === undefined || !decision
              ? []
              : [{ label: t("access.decision.fields.allowedUntil"), value: <ExactTime at={changesAt} /> }]),
          ]}
        />
        {miss !== undefined && (
          <section aria-label={t("access.decision.missing")}>
            <Text fw={600}>
              {miss.policy === undefined
                ? t("access.decision.missingForAny")
                : t("access.decision.missingFor", { policy: miss.policy.name })}
            </Text>
            <MissingFacts miss={miss} policies={explanation?.policies ?? []} user={user} device={device} />
            <PostureNote miss={miss} device={device} />
            {opening !== undefined && (
              <Text mt={4}>
                {t("access.decision.opens", {
                  opening: formatWeekTime(opening.at, opening.zone),
                  now: formatWeekTime(from, opening.zone),
                  zone: opening.zone,
                })}
              </Text>
            )}
          </section>
        )}
        <SharedAddresses shared={explanation?.sharedAddresses} />
        <DivertedAddresses name={resource?.name} diverted={explanation?.divertedAddresses} />
        {(!decision || isUnreachable) && <OfflineGateways resource={resourceId} />}
      </Stack>
    </Panel>
  );
}

/** When access begins, or when the unmet conditions on the time are met next, in the time zone of the rule. */
function openingOf(
  conditions: readonly Condition[],
  miss: NearestMiss | undefined,
  changesAt: string | undefined,
  from: Date,
): Opening | undefined {
  if (changesAt !== undefined) return { at: new Date(changesAt), zone: zoneOf(conditions) ?? formatOwnZone() };
  const isClosed = miss?.missing.some(
    ({ kind, condition }) => kind === "condition" && /\bnow\b/.test(condition?.text ?? ""),
  );
  return isClosed === true ? nextOpening(conditions, from) : undefined;
}

interface PoliciesProps {
  readonly decision: Decision;
  readonly query: AccessSearch;
}

function Policies({ decision, query }: PoliciesProps) {
  const explanation = decision.context.explanation;
  const type = useResource(resourceOf(decision, query))?.type;
  if (explanation === undefined) return null;
  const { policies, otherPolicies } = explanation;
  const isDecided = policies.some(({ outcome }) => outcome === "decided");
  const refusal = isDecided ? undefined : decision.context.reason;
  return (
    <Panel title={t("access.evaluated.title")}>
      {policies.length === 0 ? (
        <Text c="dimmed">{t("access.evaluated.empty")}</Text>
      ) : (
        <Table.ScrollContainer
          minWidth={0}
          type="native"
          tabIndex={0}
          role="group"
          aria-label={t("access.evaluated.region")}
        >
          <Table className="record-table stacks">
            <Table.Thead>
              <Table.Tr>
                <Table.Th>{t("access.evaluated.columns.policy")}</Table.Th>
                <Table.Th>{t("access.evaluated.columns.action")}</Table.Th>
                <Table.Th>{t("access.evaluated.columns.result")}</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {policies.map((considered) => (
                <Table.Tr key={considered.policy.id} aria-current={considered.outcome === "decided"}>
                  <Table.Td>
                    <RecordLink to={`/policies/${considered.policy.id}`}>{considered.policy.name}</RecordLink>
                  </Table.Td>
                  <Table.Td>
                    <PolicyAction allows={considered.action} isMuted={considered.outcome !== "decided"} />
                  </Table.Td>
                  <Table.Td>
                    <Outcome considered={considered} refusal={refusal} />
                  </Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      )}
      {otherPolicies > 0 && (
        <Text size="sm" c="dimmed" mt="sm">
          {type === undefined
            ? t("access.evaluated.others", { count: otherPolicies })
            : t("access.evaluated.othersOfType", { count: otherPolicies, type: t(`access.evaluated.types.${type}`) })}
        </Text>
      )}
    </Panel>
  );
}

interface OutcomeProps {
  readonly considered: Considered;
  /** The reason why no policy decided. */
  readonly refusal: string | undefined;
}

function Outcome({ considered: { outcome, sourceMatches, rule }, refusal }: OutcomeProps) {
  // The built-in rule that always allows has the condition `true`.
  const conditions = (rule?.conditions ?? []).filter(({ text }) => text !== "true");
  return (
    <Stack gap={4}>
      <Text fw={outcome === "decided" ? 600 : 400}>{formatOutcome(outcome, refusal)}</Text>
      {sourceMatches.length > 0 && (
        <Text size="sm" c="dimmed">
          {t("access.evaluated.matchedThrough", { matches: formatMatches(sourceMatches) })}
        </Text>
      )}
      {rule !== undefined && conditions.length > 0 && <EvaluatedRule rule={rule} conditions={conditions} />}
    </Stack>
  );
}

interface EvaluatedRuleProps {
  readonly rule: Pick<NonNullable<Considered["rule"]>, "id" | "name">;
  /** The first is the whole rule. */
  readonly conditions: readonly Condition[];
}

function EvaluatedRule({ rule: { id, name }, conditions }: EvaluatedRuleProps) {
  const result = resultOf(conditions[0]);
  return (
    <>
      <Status tone={tones[result]}>
        <RichText
          message={`access.evaluated.rule.${result}`}
          values={{ name }}
          elements={{ a: <RecordLink to={`/admission-rules/${id}`} inText /> }}
        />
      </Status>
      <ul className="conditions" aria-label={t("access.evaluated.conditions", { rule: name })}>
        {conditions.map((condition, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: conditions can be equal, and their order is fixed
          <li key={index} style={{ marginInlineStart: (condition.depth + 1) * 16 }}>
            {/* The line above states the result of the whole rule. */}
            {condition.depth === 0 && condition.operator !== undefined ? (
              t(`access.evaluated.operators.${condition.operator}`)
            ) : (
              <ConditionLine condition={condition} />
            )}
          </li>
        ))}
      </ul>
    </>
  );
}

const tones = { met: "good", notMet: "bad", unknown: "waiting" } as const;

function resultOf(condition: Condition | undefined): keyof typeof tones {
  if (condition?.met === undefined) return "unknown";
  return condition.met ? "met" : "notMet";
}

/** A condition in words, if the console has words for it. */
function ConditionText({ text }: { readonly text: string }) {
  const words = formatCondition(text);
  return words === undefined ? <Code>{text}</Code> : <span title={text}>{capitalize(words)}</span>;
}

function ConditionLine({ condition }: { readonly condition: Condition }) {
  const { text, error, operator } = condition;
  const result = resultOf(condition);
  return (
    <Group gap="xs" wrap="nowrap" align="baseline">
      <Status tone={tones[result]}>{t(`access.evaluated.${result}`)}</Status>
      <span>
        {operator === undefined ? <ConditionText text={text} /> : t(`access.evaluated.operators.${operator}`)}
        {operator === undefined && <Observed condition={condition} />}
        {error !== undefined &&
          condition.values.every((value) => value.error === undefined) &&
          operator === undefined &&
          ` ${error}`}
      </span>
    </Group>
  );
}
