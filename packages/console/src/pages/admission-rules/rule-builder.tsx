/** Makes a rule of conditions, without writing text. */
import {
  ActionIcon,
  Button,
  Checkbox,
  Group,
  Menu,
  NumberInput,
  Paper,
  SegmentedControl,
  Select,
  Stack,
  TagsInput,
  Text,
  TextInput,
} from "@mantine/core";
import { Plus, X } from "lucide-react";
import { type BuiltRule, type Comparison, type Condition, type Plain, writeRule } from "./rule-conditions.ts";

interface RuleBuilderProps {
  readonly rule: BuiltRule;
  /** @param text the rule's, of all conditions */
  readonly onChange: (text: string) => void;
}

const here = Intl.DateTimeFormat().resolvedOptions().timeZone;

const kinds: readonly { readonly label: string; readonly condition: Condition }[] = [
  { label: "Place: country", condition: { kind: "country", not: false, countries: [] } },
  { label: "Time: days of the week", condition: { kind: "days", zone: here, days: [1, 2, 3, 4, 5] } },
  { label: "Time: hours of the day", condition: { kind: "hours", zone: here, from: 8, to: 18 } },
  { label: "Device posture", condition: { kind: "posture", name: "diskEncrypted", comparison: "==", value: true } },
  { label: "User's attribute", condition: { kind: "user", name: "department", comparison: "==", value: "" } },
  { label: "User's group", condition: { kind: "group", not: false, group: "" } },
];

export function RuleBuilder({ rule: { match, conditions }, onChange }: RuleBuilderProps) {
  const write = (next: readonly Condition[], how = match) => onChange(writeRule({ match: how, conditions: next }));
  return (
    <Stack gap="sm">
      {conditions.length > 1 && (
        <Group gap="xs">
          <Text size="sm">To be met:</Text>
          <SegmentedControl
            size="xs"
            aria-label="How many have to be met"
            value={match}
            onChange={(next) => write(conditions, next)}
            data={[
              { value: "all", label: "All of these" },
              { value: "any", label: "Any of these" },
            ]}
          />
        </Group>
      )}
      {conditions.length === 0 && <Text c="dimmed">No conditions yet. Add the first one.</Text>}
      {conditions.map((condition, index) => {
        const set = (next: Condition) => write(conditions.map((each, place) => (place === index ? next : each)));
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: a condition has no other identity than its place
          <Paper withBorder p="xs" key={index} role="group" aria-label={`Condition ${index + 1}`}>
            <Group wrap="nowrap" align="flex-end" justify="space-between">
              <Group gap="xs" align="flex-end" style={{ flex: 1 }}>
                <ConditionFields condition={condition} set={set} />
              </Group>
              <ActionIcon
                variant="subtle"
                color="gray"
                size="lg"
                aria-label={`Remove condition ${index + 1}`}
                onClick={() => write(conditions.filter((_, place) => place !== index))}
              >
                <X size={16} aria-hidden />
              </ActionIcon>
            </Group>
          </Paper>
        );
      })}
      <Menu position="bottom-start">
        <Menu.Target>
          <Button
            variant="default"
            size="xs"
            leftSection={<Plus size={14} aria-hidden />}
            style={{ alignSelf: "start" }}
          >
            Add a condition
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          {kinds.map(({ label, condition }) => (
            <Menu.Item key={label} onClick={() => write([...conditions, condition])}>
              {label}
            </Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
    </Stack>
  );
}

interface ConditionFieldsProps<C> {
  readonly condition: C;
  readonly set: (condition: Condition) => void;
}

const weekdays = [
  [1, "Mon"],
  [2, "Tue"],
  [3, "Wed"],
  [4, "Thu"],
  [5, "Fri"],
  [6, "Sat"],
  [0, "Sun"],
] as const;

function ConditionFields({ condition, set }: ConditionFieldsProps<Condition>) {
  switch (condition.kind) {
    case "country":
      return (
        <>
          <Is
            not={condition.not}
            label="Country"
            yes="is one of"
            no="is none of"
            set={(not) => set({ ...condition, not })}
          />
          <TagsInput
            label="Countries"
            placeholder="DE"
            value={[...condition.countries]}
            onChange={(countries) => set({ ...condition, countries: countries.map((code) => code.toUpperCase()) })}
            style={{ flex: 1 }}
            miw={160}
          />
        </>
      );
    case "days":
      return (
        <>
          <Checkbox.Group
            label="On"
            value={condition.days.map(String)}
            onChange={(days) => set({ ...condition, days: days.map(Number) })}
          >
            <Group gap="xs" py={6}>
              {weekdays.map(([day, label]) => (
                <Checkbox key={day} value={String(day)} label={label} />
              ))}
            </Group>
          </Checkbox.Group>
          <Zone zone={condition.zone} set={(zone) => set({ ...condition, zone })} />
        </>
      );
    case "hours":
      return (
        <>
          <Hour
            label="From"
            value={condition.from}
            min={0}
            max={condition.to - 1}
            set={(from) => set({ ...condition, from })}
          />
          <Hour
            label="Until"
            value={condition.to}
            min={condition.from + 1}
            max={24}
            set={(to) => set({ ...condition, to })}
          />
          <Zone zone={condition.zone} set={(zone) => set({ ...condition, zone })} />
        </>
      );
    case "group":
      return (
        <>
          <Is not={condition.not} label="User" yes="is in" no="is not in" set={(not) => set({ ...condition, not })} />
          <TextInput
            label="Group"
            value={condition.group}
            onChange={({ currentTarget }) => set({ ...condition, group: currentTarget.value })}
            style={{ flex: 1 }}
          />
        </>
      );
    default:
      return <Compared condition={condition} set={set} />;
  }
}

type ComparedCondition = Extract<Condition, { readonly kind: "posture" | "user" }>;

const comparisons: readonly { readonly value: Comparison; readonly label: string }[] = [
  { value: "==", label: "is" },
  { value: "!=", label: "is not" },
  { value: ">=", label: "is at least" },
  { value: "<=", label: "is at most" },
];

function Compared({ condition, set }: ConditionFieldsProps<ComparedCondition>) {
  return (
    <>
      <TextInput
        label={condition.kind === "posture" ? "Posture" : "Attribute"}
        value={condition.name}
        onChange={({ currentTarget }) =>
          set({ ...condition, name: currentTarget.value.replaceAll(/\W/g, "") || "name" })
        }
        w={150}
      />
      <Select
        label="Comparison"
        data={[...comparisons]}
        value={condition.comparison}
        allowDeselect={false}
        onChange={(next) =>
          set({ ...condition, comparison: comparisons.find(({ value }) => value === next)?.value ?? "==" })
        }
        w={120}
      />
      <TextInput
        label="Value"
        value={String(condition.value)}
        onChange={({ currentTarget }) => set({ ...condition, value: plainOf(currentTarget.value) })}
        style={{ flex: 1 }}
      />
    </>
  );
}

function plainOf(text: string): Plain {
  if (text === "true" || text === "false") return text === "true";
  return /^-?(0|[1-9]\d{0,8})$/.test(text) && text !== "-0" ? Number(text) : text;
}

interface IsProps {
  readonly label: string;
  readonly not: boolean;
  readonly yes: string;
  readonly no: string;
  readonly set: (not: boolean) => void;
}

function Is({ label, not, yes, no, set }: IsProps) {
  return (
    <Select
      label={label}
      data={[
        { value: "yes", label: yes },
        { value: "no", label: no },
      ]}
      value={not ? "no" : "yes"}
      allowDeselect={false}
      onChange={(value) => set(value === "no")}
      w={130}
    />
  );
}

interface HourProps {
  readonly label: string;
  readonly value: number;
  readonly min: number;
  readonly max: number;
  readonly set: (hour: number) => void;
}

function Hour({ label, value, min, max, set }: HourProps) {
  return (
    <NumberInput
      label={label}
      value={value}
      min={min}
      max={max}
      allowDecimal={false}
      clampBehavior="strict"
      suffix=":00"
      hideControls
      onChange={(hour) => {
        if (typeof hour === "number" && hour >= min && hour <= max) set(hour);
      }}
      w={80}
    />
  );
}

const zones = Intl.supportedValuesOf("timeZone");

function Zone({ zone, set }: { readonly zone: string; readonly set: (zone: string) => void }) {
  return (
    <Select
      label="In the time of"
      data={zones.includes(zone) ? zones : [zone, ...zones]}
      value={zone}
      searchable
      limit={50}
      allowDeselect={false}
      onChange={(next) => set(next ?? zone)}
      style={{ flex: 1 }}
      miw={150}
    />
  );
}
