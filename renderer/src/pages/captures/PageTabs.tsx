import { Tabs } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { readResponse, sendRequest, UnexpectedResponse, urlOf } from '../../api/client.ts';
import { useCall } from '../../api/useCall.ts';
import { TextBox } from '../../components/content/RowsTable.tsx';
import { IfReadable } from '../../components/content/Withheld.tsx';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { countOf, formatCount } from '../../format.ts';
import { useUrlFilters } from '../../state/urlFilters.ts';
import { ArchivedPage } from '../view/ViewPage.tsx';
import classes from './captures.module.css';
import { type AnyPage, hasNoText } from './pageWords.ts';
import { RequestsTable } from './RequestsTable.tsx';

const TAB = ['tab'] as const;

/** What a page consists of, in tabs: its document, its text and its requests. The open one is in the URL. */
export function PageTabs({ page }: { page: AnyPage }) {
  const { values, set } = useUrlFilters(TAB);
  const tabs: readonly (readonly [name: string, label: string, content: ReactNode])[] = [
    ...('retrieval' in page
      ? [
          [
            'document',
            'Document',
            <IfReadable key="document" of={[{ sha256: page.document }]}>
              <PageDocument page={page} />
            </IfReadable>,
          ] as const,
        ]
      : []),
    [
      'text',
      'Text',
      <IfReadable key="text" of={[{ sha256: page.text }]}>
        <PageText page={page} />
      </IfReadable>,
    ],
    [
      'requests',
      `Requests (${formatCount(page.requests.length)})`,
      <RequestsTable key="requests" requests={page.requests} />,
    ],
  ];
  const open = tabs.find(([name]) => name === values.tab) ?? tabs[0];
  return (
    <Tabs
      value={open?.[0] ?? null}
      onChange={(name) => set({ tab: name ?? '' })}
      keepMounted={false}
      classNames={{ root: classes.tabs, list: classes.tabList, tab: classes.tab }}
    >
      <Tabs.List aria-label="Parts of the page">
        {tabs.map(([name, label]) => (
          <Tabs.Tab key={name} value={name}>
            {label}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {tabs.map(([name, , content]) => (
        <Tabs.Panel key={name} value={name} pt="md">
          {content}
        </Tabs.Panel>
      ))}
    </Tabs>
  );
}

/** The drawn document, shown as every archived page: without scripts, with what the archive holds. */
function PageDocument({ page }: { page: AnyPage }) {
  const { document: sha256, source, started_at } = page;
  const { data, error, refetch } = useCall('readObjectView', {
    params: { sha256 },
    query: { source: source ?? undefined, at: started_at },
  });
  if (error) return <ErrorNote error={error} onRetry={() => void refetch()} />;
  if (!data) return <output className="muted">Preparing the page…</output>;
  return <ArchivedPage view={data} />;
}

/** How much text is shown. */
const SHOWN_CHARACTERS = 300_000;

/** The text of a page, as a person reads it. */
export function PageText({ page }: { page: AnyPage }) {
  const { data, error, refetch } = useQuery({
    queryKey: ['pageText', page.id],
    queryFn: ({ signal }) => readPageText(page.id, signal),
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (hasNoText(page)) return <p className="muted">The page shows no text. See the picture.</p>;
  if (error) return <ErrorNote error={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <output className="muted">Loading…</output>;
  return (
    <div className="stack gap-2">
      <TextBox text={data.slice(0, SHOWN_CHARACTERS)} label="Text of the page" isBounded />
      <p className="small muted">
        {countOf(data.length, 'character')}, in reading order, one block per line.
        {data.length > SHOWN_CHARACTERS && ` The first ${formatCount(SHOWN_CHARACTERS)} are shown.`}
      </p>
    </div>
  );
}

async function readPageText(id: string, signal: AbortSignal): Promise<string> {
  const response = await sendRequest(urlOf('readPagePart', { params: { id, part: 'text' } }), { signal });
  if (response.ok) return response.text();
  await readResponse(response);
  throw new UnexpectedResponse(response.status);
}
