/** The policies of a type in their order, which is changed by dragging, or by keys. */
import { Badge, Button, Group, Paper, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { ArrowDown, ArrowUp, GripVertical } from "lucide-react";
import { type DragEvent, type KeyboardEvent, memo, useCallback, useState } from "react";
import { useMay } from "../../app/session.ts";
import { moved } from "../../records/moved.ts";
import { ReviewDialog } from "../../records/reviewed-change.tsx";
import { Status } from "../../records/status.tsx";
import { type Policy, type PolicyType, sayWhat, sayWho } from "./say-policy.ts";

interface PolicyOrderProps {
  readonly type: PolicyType;
  readonly policies: readonly Policy[];
  /** What is looked for: others are not shown, and the order stays as it is. */
  readonly text: string;
}

/** The default policy stays last. Is mounted anew where the stored order is another. */
export function PolicyOrder({ type, policies, text }: PolicyOrderProps) {
  const [order, setOrder] = useState(policies);
  const [reviewing, setReviewing] = useState(false);
  const [lastMoved, setLastMoved] = useState<string>();
  const isFiltered = text !== "";
  const may = useMay("policies:write") && !isFiltered;
  const isChanged = order.some(({ id }, index) => id !== policies[index]?.id);
  const last = order.length - 1 - (order.at(-1)?.isDefault === true ? 1 : 0);

  const move = useCallback((id: string, to: (from: number) => number) => {
    setLastMoved(id);
    setOrder((now) => {
      const end = now.length - 1 - (now.at(-1)?.isDefault === true ? 1 : 0);
      const from = now.findIndex((policy) => policy.id === id);
      const target = Math.min(Math.max(to(from), 0), end);
      if (from < 0 || from > end || target === from) return now;
      return moved(now, from, target);
    });
  }, []);
  const dropAt = useCallback((id: string, target: string) => {
    setOrder((now) => {
      const end = now.length - 1 - (now.at(-1)?.isDefault === true ? 1 : 0);
      const from = now.findIndex((policy) => policy.id === id);
      const to = now.findIndex((policy) => policy.id === target);
      return from < 0 || to < 0 || from > end ? now : moved(now, from, Math.min(to, end));
    });
  }, []);
  const shown = isFiltered ? order.filter(({ name }) => name.toLowerCase().includes(text.toLowerCase())) : order;
  const places = isFiltered ? new Map(order.map(({ id }, index) => [id, index])) : undefined;
  const movedTo = order.findIndex(({ id }) => id === lastMoved);
  const body = { type, policies: order.map(({ id }) => id) };
  return (
    <>
      {isChanged && (
        <Paper withBorder p="sm" className="order-bar">
          <Group justify="space-between">
            <Text fw={600}>The order is changed, and not saved yet.</Text>
            <Group gap="xs">
              <Button variant="default" onClick={() => setOrder(policies)}>
                Discard
              </Button>
              <Button onClick={() => setReviewing(true)}>Review the order</Button>
            </Group>
          </Group>
        </Paper>
      )}
      <div aria-live="polite" className="unseen">
        {movedTo >= 0 && `${order[movedTo]?.name} is now number ${movedTo + 1} of ${order.length}.`}
      </div>
      {shown.length === 0 ? (
        <Paper withBorder p="xl">
          <Text ta="center">No policies match</Text>
        </Paper>
      ) : (
        <Paper withBorder>
          <ol className="policies">
            {shown.map((policy, index) => {
              const place = places?.get(policy.id) ?? index;
              return (
                <PolicyRow
                  key={policy.id}
                  policy={policy}
                  place={place}
                  mayMove={may && !policy.isDefault}
                  isLast={place >= last}
                  move={move}
                  dropAt={dropAt}
                />
              );
            })}
          </ol>
        </Paper>
      )}
      {reviewing && (
        <ReviewDialog
          title="Change the order of policies"
          changes={[{ method: "POST", path: "/tenants/policies/reorder", body }]}
          label="Save the order"
          close={() => setReviewing(false)}
        />
      )}
    </>
  );
}

interface PolicyRowProps {
  readonly policy: Policy;
  readonly place: number;
  readonly mayMove: boolean;
  readonly isLast: boolean;
  readonly move: (id: string, to: (from: number) => number) => void;
  readonly dropAt: (id: string, target: string) => void;
}

const dragged = "application/x-gatehouse-policy";

/** Plain elements: there may be thousands, and only those that change are drawn anew. */
const PolicyRow = memo(function PolicyRow({ policy, place, mayMove, isLast, move, dropAt }: PolicyRowProps) {
  const { id, name, action, active, isDefault } = policy;
  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key === "ArrowUp" ? -1 : event.key === "ArrowDown" ? 1 : 0;
    if (step !== 0 && mayMove) {
      event.preventDefault();
      move(id, (from) => from + step);
    } else if ((event.key === "Home" || event.key === "End") && mayMove) {
      event.preventDefault();
      move(id, () => (event.key === "Home" ? 0 : Number.MAX_SAFE_INTEGER));
    }
  };
  const onDragOver = (event: DragEvent) => {
    if (event.dataTransfer.types.includes(dragged)) event.preventDefault();
  };
  return (
    <li
      className="policy"
      data-inactive={!active}
      onDragOver={onDragOver}
      onDrop={(event) => {
        event.preventDefault();
        dropAt(event.dataTransfer.getData(dragged), id);
      }}
    >
      {mayMove && (
        <button
          type="button"
          className="grip"
          draggable
          aria-label={`Order of ${name}: drag, or use the arrow keys`}
          onKeyDown={onKeyDown}
          onDragStart={(event) => {
            event.dataTransfer.setData(dragged, id);
            event.dataTransfer.effectAllowed = "move";
          }}
        >
          <GripVertical size={18} aria-hidden />
        </button>
      )}
      <span className="place">{place + 1}</span>
      <span className="policy-name">
        <Link to={`/policies/${id}`}>{name}</Link>
        {!active && " (inactive)"}
        {isDefault && (
          <Badge variant="default" ml="xs" size="sm">
            Default
          </Badge>
        )}
      </span>
      <span className="policy-decision">
        <Status mood={action ? "good" : "bad"}>{action ? "Allow" : "Deny"}</Status>
      </span>
      <span className="policy-about">
        {sayWho(policy)} → {sayWhat(policy)}
        {policy.rule.type === "CUSTOM" && `, if ${policy.rule.name}`}
      </span>
      {mayMove && (
        <span className="policy-move">
          <button
            type="button"
            className="grip"
            aria-label={`Move ${name} up`}
            disabled={place === 0}
            onClick={() => move(id, (from) => from - 1)}
          >
            <ArrowUp size={16} aria-hidden />
          </button>
          <button
            type="button"
            className="grip"
            aria-label={`Move ${name} down`}
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
