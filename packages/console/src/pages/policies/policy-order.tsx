/** The ordered policies of one type. People change the order by dragging or with the keyboard. */
import { Badge, Button, Group, Paper, Stack, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { defaultRangeExtractor, type Range, useWindowVirtualizer } from "@tanstack/react-virtual";
import { ArrowDown, ArrowUp } from "lucide-react";
import { type CSSProperties, memo, useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";
import { usePermission } from "../../app/session.ts";
import type { ListPreferences } from "../../lists/list-preferences.ts";
import { t } from "../../messages/i18n.ts";
import { Kind } from "../../records/kind-icon.tsx";
import {
  dropTarget,
  focusGrip,
  Grip,
  lastPlace,
  OvertakenNotice,
  type Reorder,
  useReorder,
} from "../../records/reorder.tsx";
import { ReviewDialog } from "../../records/reviewed-change.tsx";
import { DiscardNotice, useUnsaved } from "../../records/unsaved.tsx";
import type { Policy, PolicyType } from "./format-policy.ts";
import { actionColumn, scopeColumn } from "./policy-list.tsx";

interface PolicyOrderProps {
  readonly type: PolicyType;
  readonly policies: readonly Policy[];
  /** Hides policies whose names do not contain the text. */
  readonly text: string;
  /** Whether all policies are loaded. A new order has to list every policy. */
  readonly isWhole: boolean;
  readonly preferences: ListPreferences;
  /** Fetches the stored order again. */
  readonly reload: () => unknown;
  /** Called when the last loaded policy is shown and others follow. */
  readonly reachEnd: () => void;
}

const isDefault = (policy: Policy): boolean => policy.isDefault;

/** The default policy is always last. */
export function PolicyOrder({ type, policies, text, isWhole, preferences, reload, reachEnd }: PolicyOrderProps) {
  const reorder = useReorder(policies, isDefault);
  const { order, isChanged, announcement, discard, isOvertaken } = reorder;
  const unsaved = useUnsaved(isChanged);
  const [reviewing, setReviewing] = useState(false);
  if (isOvertaken && reviewing) setReviewing(false);
  const review = () => {
    setReviewing(true);
    // If someone else changed the order, the review shows it instead of overwriting it.
    void reload();
  };
  const canWrite = usePermission("policies:write") && text === "" && isWhole;
  const body = { type, policies: order.map(({ id }) => id) };
  return (
    <>
      {isOvertaken && <OvertakenNotice />}
      {isChanged && (
        <Paper withBorder p="sm" className="order-bar">
          <Group justify="space-between">
            <Text fw={600}>{t("policies.order.changed")}</Text>
            <Group gap="xs">
              <Button variant="default" onClick={discard}>
                {t("policies.order.discard")}
              </Button>
              <Button onClick={review}>{t("policies.order.review")}</Button>
            </Group>
          </Group>
          {unsaved.asks && (
            <Stack mt="sm">
              <DiscardNotice unsaved={unsaved} />
            </Stack>
          )}
        </Paper>
      )}
      <div aria-live="polite" className="unseen">
        {announcement}
      </div>
      <Rows
        reorder={reorder}
        text={text}
        canWrite={canWrite}
        preferences={preferences}
        {...(isWhole ? {} : { reachEnd })}
      />
      {reviewing && isChanged && (
        <ReviewDialog
          title={t("policies.order.title")}
          changes={[{ method: "POST", path: "/tenants/policies/reorder", body }]}
          label={t("policies.order.save")}
          close={() => setReviewing(false)}
        />
      )}
    </>
  );
}

interface RowsProps {
  readonly reorder: Reorder<Policy>;
  readonly text: string;
  readonly canWrite: boolean;
  readonly preferences: ListPreferences;
  /** Absent if no other policies follow. */
  readonly reachEnd?: () => void;
}

/** Renders only visible rows and the row that moved last, because a tenant can have thousands of policies. */
function Rows({ reorder, text, canWrite, preferences: { hidden, density }, reachEnd }: RowsProps) {
  const { order, lastMoved, move, dropAt } = reorder;
  const list = useRef<HTMLOListElement>(null);
  const [top, setTop] = useState(0);
  const isFiltered = text !== "";
  const shown = isFiltered ? order.filter(({ name }) => name.toLowerCase().includes(text.toLowerCase())) : order;
  const places = isFiltered ? new Map(order.map(({ id }, index) => [id, index])) : undefined;
  const last = lastPlace(order, isDefault);
  const kept = isFiltered ? undefined : lastMoved?.place;
  const virtualizer = useWindowVirtualizer({
    count: shown.length,
    estimateSize: () => 37,
    overscan: 8,
    scrollMargin: top,
    // Keeps rows below the header and the bar with unsaved changes.
    scrollPaddingStart: 140,
    scrollPaddingEnd: 16,
    getItemKey: (index) => shown[index]?.id ?? index,
    rangeExtractor: useCallback(
      (range: Range) => {
        const inSight = defaultRangeExtractor(range);
        if (kept === undefined || kept >= range.count || inSight.includes(kept)) return inSight;
        return [...inSight, kept].sort((a, b) => a - b);
      },
      [kept],
    ),
  });
  useLayoutEffect(() => {
    const { top: now = 0 } = list.current?.getBoundingClientRect() ?? {};
    setTop(Math.round(now + window.scrollY));
  });
  const isAtEnd = (virtualizer.getVirtualItems().at(-1)?.index ?? -1) >= shown.length - 1;
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each end
  useEffect(() => {
    if (isAtEnd) reachEnd?.();
  }, [isAtEnd]);
  const [movedId, movedTo] = [lastMoved?.id, lastMoved?.place];
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each move
  useLayoutEffect(() => {
    if (movedId === undefined || movedTo === undefined) return;
    focusGrip(list.current, movedId);
    virtualizer.scrollToIndex(movedTo, { align: "auto" });
  }, [movedId, movedTo]);
  const [showsAction, showsScope] = [actionColumn, scopeColumn].map(({ key }) => !hidden.includes(key));
  // biome-ignore lint/correctness/useExhaustiveDependencies: the preferences change the heights of all rows
  useLayoutEffect(() => virtualizer.measure(), [density, showsAction, showsScope]);
  if (shown.length === 0) {
    return (
      <Paper withBorder p="xl">
        <Text ta="center">{t("policies.order.noMatch")}</Text>
      </Paper>
    );
  }
  return (
    <>
      <Paper
        withBorder
        className="policy-list"
        data-fixed={!canWrite || undefined}
        data-hides={hidden.join(" ")}
        data-density={density}
        // All names start in one column, whatever their positions are.
        style={{ "--digits": String(order.length).length } as CSSProperties}
      >
        <div className="policy-head" aria-hidden>
          {canWrite && <span />}
          <span>#</span>
          <span>{t("common.name")}</span>
          {showsAction && <span className="policy-decision">{actionColumn.title}</span>}
          {showsScope && <span>{scopeColumn.title}</span>}
          {canWrite && <span />}
        </div>
        <ol className="policies" ref={list} style={{ height: virtualizer.getTotalSize() }}>
          {virtualizer.getVirtualItems().map(({ index, start }) => {
            const policy = shown[index];
            if (policy === undefined) return null;
            const place = places?.get(policy.id) ?? index;
            return (
              <PolicyRow
                key={policy.id}
                policy={policy}
                index={index}
                count={shown.length}
                offset={start - top}
                measure={virtualizer.measureElement}
                place={place}
                canDrop={canWrite}
                showsAction={showsAction === true}
                showsScope={showsScope === true}
                isLast={place >= last}
                move={move}
                dropAt={dropAt}
              />
            );
          })}
        </ol>
      </Paper>
      {reachEnd === undefined && (
        <Text size="sm" c="dimmed" aria-live="polite">
          {t("lists.results", { count: shown.length })}
        </Text>
      )}
    </>
  );
}

interface PolicyRowProps {
  readonly policy: Policy;
  /** Among the visible policies. */
  readonly index: number;
  readonly count: number;
  /** Distance from the top of the list, in pixels. */
  readonly offset: number;
  readonly measure: (row: HTMLElement | null) => void;
  /** Position in the order of evaluation, from 0. */
  readonly place: number;
  /** Whether the order can change. The default policy never moves. */
  readonly canDrop: boolean;
  readonly showsAction: boolean;
  readonly showsScope: boolean;
  readonly isLast: boolean;
  readonly move: Reorder<Policy>["move"];
  readonly dropAt: Reorder<Policy>["dropAt"];
}

/** Plain elements instead of Mantine components, because drag and drop renders many rows. */
const PolicyRow = memo(function PolicyRow(props: PolicyRowProps) {
  const { policy, index, count, offset, measure, place, canDrop, showsAction, showsScope, isLast, move, dropAt } =
    props;
  const { id, name, active } = policy;
  const canMove = canDrop && !policy.isDefault;
  return (
    <li
      className="policy"
      data-inactive={!active}
      data-index={index}
      ref={measure}
      aria-setsize={count}
      aria-posinset={index + 1}
      style={{ transform: `translateY(${offset}px)` }}
      {...(canDrop ? dropTarget("policy", id, dropAt) : {})}
    >
      {canMove ? <Grip id={id} name={name} kind="policy" move={move} dropAt={dropAt} /> : canDrop && <span />}
      <span className="place">{place + 1}</span>
      <span className="policy-name">
        <Kind of="policies">
          <span>
            <Link to={`/policies/${id}`}>
              <bdi>{name}</bdi>
            </Link>
            {!active && ` ${t("policies.order.inactive")}`}
            {policy.isDefault && (
              <Badge variant="default" ml="xs" size="sm">
                {t("policies.order.isDefault")}
              </Badge>
            )}
          </span>
        </Kind>
      </span>
      {showsAction && <span className="policy-decision">{actionColumn.cell(policy)}</span>}
      {showsScope && <span className="policy-about">{scopeColumn.cell(policy)}</span>}
      {canMove && (
        <span className="policy-move">
          <button
            type="button"
            className="grip"
            aria-label={t("policies.order.moveUp", { name })}
            disabled={place === 0}
            onClick={() => move(id, (from) => from - 1)}
          >
            <ArrowUp size={16} aria-hidden />
          </button>
          <button
            type="button"
            className="grip"
            aria-label={t("policies.order.moveDown", { name })}
            disabled={isLast}
            onClick={() => move(id, (from) => from + 1)}
          >
            <ArrowDown size={16} aria-hidden />
          </button>
        </span>
      )}
    </li>
  );
});
