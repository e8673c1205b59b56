import { SegmentedControl, Tabs } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { Link } from 'react-router';
import type { PageRequest } from '../../../../shared/collection/page.ts';
import { readResponse, sendRequest, UnexpectedResponse, urlOf } from '../../api/client.ts';
import { useCall } from '../../api/useCall.ts';
import { ObjectDigest, ObserverText } from '../../components/content/Retrieval.tsx';
import { TextBox } from '../../components/content/RowsTable.tsx';
import { IfReadable } from '../../components/content/Withheld.tsx';
import { type Column, DataTable } from '../../components/data/DataTable.tsx';
import { DigestChip, Facts, TimeText } from '../../components/data/Values.tsx';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { SearchField, useUrlFilters } from '../../components/forms/filters.tsx';
import { countOf, formatBytes, formatCount, formatDuration } from '../../format.ts';
import { ArchivedPage } from '../view/ViewPage.tsx';
import classes from './captures.module.css';
import {
  type AnyPage,
  answersOf,
  CUT_SENTENCES,
  hasNoText,
  LIMITS_HINT,
  originWords,
  pictureChangeWords,
  reasonWords,
} from './pageCapture.ts';

/** What a person should know before they trust the picture: that it is cut, or that nothing on it can be read. */
export function PageWarnings({ page }: { page: AnyPage }) {
  const warnings: [string, ReactNode][] = [];
  if (page.reason)
    warnings.push([
      'Cut off',
      <>
        {CUT_SENTENCES[page.reason]}{' '}
        {page.reason !== 'height' && <Link to="/settings#collection">{LIMITS_HINT}</Link>}
      </>,
    ]);
  if (hasNoText(page))
    warnings.push([
      'No text',
      'The page was drawn but shows no text. It may be an image, be empty, or wait for a click.',
    ]);
  return warnings.map(([title, sentence]) => (
    <div key={title} className={classes.warning}>
      <IconAlertTriangle size={18} aria-hidden />
      <p className="small">
        <strong>{title}.</strong> {sentence}
      </p>
    </div>
  ));
}

/** When a page was drawn, by which browser, from how many answers, and the digests of what came of it. */
export function PageFacts({ page }: { page: AnyPage }) {
  const { browser, viewport, requests, started_at, ended_at, environment } = page;
  const seconds = (Date.parse(ended_at) - Date.parse(started_at)) / 1000;
  const isCapture = 'retrieval' in page;
  return (
    <div className={classes.facts}>
      <Facts
        facts={{
          Drawn: <TimeText at={started_at} show="exact" />,
          'As of': 'at' in page && <TimeText at={page.at} show="exact" />,
          Duration: formatDuration(seconds),
          Browser: `${browser.name} ${browser.version}`,
          Window: `${formatCount(viewport.width)} × ${formatCount(viewport.height)} pixels`,
          'Drawn from': answersOf(requests),
          Extent: page.reason ? `cut off (${page.reason})` : 'complete',
          Observer: isCapture && page.observer !== undefined && <ObserverText observer={page.observer} />,
          Change: isCapture && pictureChangeWords(page),
          Ledger: isCapture && <Link to={`/ledger#${page.ledger_entry}`}>entry {page.ledger_entry}</Link>,
          Picture: <ObjectDigest sha256={page.picture} label="digest of the picture" />,
          Text: <ObjectDigest sha256={page.text} label="digest of the text" />,
          Document: <ObjectDigest sha256={page.document} label="digest of the document" />,
          Environment: <DigestChip digest={environment} label="environment" />,
        }}
      />
      <p className="tiny muted">
        The environment covers the browser build, its fonts and its settings. In the same environment, the
        same bytes give the same picture.
      </p>
    </div>
  );
}

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
      classNames={{ root: classes.tabs, list: 'tab-list', tab: 'tab' }}
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

type Kind = 'all' | 'without';
/** More rows say nothing more at a glance; the search finds the others. */
const SHOWN = 200;

/** What a page asked for, and what it was answered: a search, and the requests without an answer on their own. */
function RequestsTable({ requests }: { requests: readonly PageRequest[] }) {
  const [words, setWords] = useState('');
  const [kind, setKind] = useState<Kind>('all');
  const without = requests.filter(({ reason }) => reason !== null);
  const typed = words.trim().toLowerCase();
  const found = (kind === 'all' ? requests : without).filter(({ url, type, method, reason }) =>
    `${method} ${url} ${type} ${reason ?? ''}`.toLowerCase().includes(typed),
  );
  const shown = found.slice(0, SHOWN);
  return (
    <div className="stack gap-3">
      <search className="cluster gap-3">
        <div className={classes.search}>
          <SearchField
            label="Search requests"
            placeholder="Address or type"
            value={words}
            onChange={setWords}
          />
        </div>
        {without.length > 0 && (
          <SegmentedControl
            size="xs"
            aria-label="Which requests"
            data={[
              { value: 'all', label: `All ${formatCount(requests.length)}` },
              { value: 'without', label: `Without an answer ${formatCount(without.length)}` },
            ]}
            value={kind}
            onChange={(next) => setKind(next as Kind)}
          />
        )}
      </search>
      {found.length === 0 ? (
        <p className="muted">No request matches.</p>
      ) : (
        <RequestRows caption="Requests of the page, in order" requests={shown} />
      )}
      {shown.length < found.length && (
        <p className="small muted">
          The first {formatCount(SHOWN)} of {countOf(found.length, 'request')} are shown.
        </p>
      )}
    </div>
  );
}

interface Row {
  request: PageRequest;
  key: number;
}

export function RequestRows({ caption, requests }: { caption: string; requests: readonly PageRequest[] }) {
  // A page may ask for an address more than once.
  const rows = requests.map((request, key) => ({ request, key }));
  return <DataTable caption={caption} rows={rows} rowKey={({ key }) => key} columns={COLUMNS} />;
}

const COLUMNS: readonly Column<Row>[] = [
  {
    id: 'address',
    header: 'Address',
    cell: ({ request }) => (
      <span className="stack gap-1">
        <span className="small wrap-anywhere">
          {request.method !== 'GET' && <strong>{request.method} </strong>}
          {request.url}
        </span>
        {request.reason !== null && <span className="small warn">{reasonWords(request)}</span>}
        <span className="small muted" data-show="narrow">
          {[request.status, request.type, originWords(request)].filter(Boolean).join(', ')}
        </span>
      </span>
    ),
  },
  {
    id: 'type',
    header: 'Type',
    width: '7rem',
    hideBelow: 'medium',
    cell: ({ request }) => <span className="small">{request.type}</span>,
  },
  {
    id: 'from',
    header: 'From',
    width: '9rem',
    hideBelow: 'narrow',
    cell: ({ request }) => <span className="small">{originWords(request)}</span>,
  },
  {
    id: 'status',
    header: 'Status',
    width: '5rem',
    align: 'end',
    hideBelow: 'narrow',
    cell: ({ request: { status } }) => status,
  },
  {
    id: 'size',
    header: 'Size',
    width: '6rem',
    align: 'end',
    hideBelow: 'narrow',
    cell: ({ request: { bytes } }) => bytes !== null && <span className="nowrap">{formatBytes(bytes)}</span>,
  },
  {
    id: 'object',
    header: 'Object',
    width: '7rem',
    hideBelow: 'medium',
    cell: ({ request: { sha256 } }) =>
      sha256 && <ObjectDigest sha256={sha256} label="digest of the answer" />,
  },
];
