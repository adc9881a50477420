/** One guide, rendered from Markdown. The hash of the address is the heading to start at. */
import { Anchor, Breadcrumbs, Paper, Skeleton, Stack, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link, useLocation, useParams } from "@tanstack/react-router";
import { useEffect } from "react";
import { ProblemNotice } from "../../app/problem-notice.tsx";
import { t } from "../../messages/i18n.ts";
import type { GuideName } from "../../records/guide-link.tsx";
import { GuideText } from "./guide-text.tsx";
import { isGuide, readGuide } from "./guide-texts.ts";

export function GuidePage() {
  const { id: name = "" } = useParams({ strict: false });
  const title = isGuide(name) ? t(`guides.names.${name}`) : t("guides.unknown.title");
  useEffect(() => {
    document.title = t("common.documentTitle", { title });
  }, [title]);
  return (
    <Stack maw={860}>
      <Breadcrumbs className="trail">
        <Anchor component={Link} to="/guides">
          {t("guides.title")}
        </Anchor>
        <Text c="dimmed" truncate>
          {title}
        </Text>
      </Breadcrumbs>
      <Title order={1}>{title}</Title>
      {isGuide(name) ? <Guide key={name} name={name} /> : <Text>{t("guides.unknown.text")}</Text>}
    </Stack>
  );
}

function Guide({ name }: { readonly name: GuideName }) {
  const { hash } = useLocation();
  const { data, error, refetch } = useQuery({
    queryKey: ["guides", name],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: () => readGuide(name),
  });
  useEffect(() => {
    if (data !== undefined && hash !== "") document.getElementById(hash)?.scrollIntoView();
  }, [data, hash]);
  if (error !== null) return <ProblemNotice error={error} retry={refetch} />;
  if (data === undefined) return <Skeleton height={320} aria-busy />;
  return (
    <Paper withBorder p="lg" component="article">
      <GuideText markdown={data} />
    </Paper>
  );
}
