import { SegmentedControl } from '@mantine/core';
import { useState } from 'react';
import type { PageRequest } from '../../../../shared/collection/page.ts';
import { ObjectDigest } from '../../components/content/Retrieval.tsx';
import { type Column, DataTable } from '../../components/data/DataTable.tsx';
import { SearchField } from '../../components/forms/filters.tsx';
import { countOf, formatBytes, formatCount } from '../../format.ts';
import classes from './captures.module.css';
import { originWords, reasonWords } from './pageWords.ts';

type Kind = 'all' | 'without';
/** More rows say nothing more at a glance; the search finds the others. */
const SHOWN = 200;

/** What a page asked for, and what it was answered: a search, and the requests without an answer on their own. */
export function RequestsTable({ requests }: { requests: readonly PageRequest[] }) {
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
