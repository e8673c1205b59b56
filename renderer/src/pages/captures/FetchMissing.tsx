import { Button } from '@mantine/core';
import { IconDownload } from '@tabler/icons-react';
import type { PageRequest } from '../../../../shared/collection/page.ts';
import { useSave } from '../../api/useCall.ts';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { countOf } from '../../format.ts';
import { useIsOwner } from '../../state/session.ts';
import { collectionSummary } from '../sources/runs.ts';
import classes from './captures.module.css';

/** The node takes no more at once. */
const MAX_URLS = 500;

interface FetchMissingProps {
  urls: readonly string[];
  /** Runs when the node has fetched what it could. */
  onFetched?: () => void;
}

/** One button that fetches what the archive does not hold. Only for the owner. */
export function FetchMissing({ urls, onFetched }: FetchMissingProps) {
  const isOwner = useIsOwner();
  const chosen = [...new Set(urls)].slice(0, MAX_URLS);
  const fetching = useSave('fetchMissing', () => ({ body: { urls: chosen } }), { onSaved: onFetched });
  if (!isOwner || chosen.length === 0) return null;
  return (
    <div className="stack items-start gap-2">
      <Button
        size="xs"
        variant="default"
        leftSection={<IconDownload size={15} aria-hidden />}
        loading={fetching.isPending}
        onClick={() => fetching.mutate()}
      >
        Fetch what is missing now
      </Button>
      <output className="small muted">
        {fetching.isPending
          ? `Fetching ${countOf(chosen.length, 'address', 'addresses')}…`
          : fetching.data
            ? `${collectionSummary(fetching.data)} They are the current versions, not the versions from that time.`
            : 'The current version of each address is fetched. Each address becomes a paused source.'}
      </output>
      {fetching.error && <ErrorNote error={fetching.error} onRetry={() => fetching.mutate()} />}
    </div>
  );
}

interface MissingRequestsProps {
  requests: readonly PageRequest[];
  onFetched?: () => void;
}

/** What a page asked for and the archive does not hold, once. */
export function MissingRequests({ requests, onFetched }: MissingRequestsProps) {
  if (requests.length === 0) return null;
  const seen = Map.groupBy(requests, ({ method, url }) => `${method} ${url}`);
  const gettable = requests.filter(({ method, url }) => method === 'GET' && /^https?:/.test(url));
  return (
    <section className="stack gap-2" aria-label="What is missing">
      <h2>{countOf(seen.size, 'address', 'addresses')} not in the archive</h2>
      <ul
        className={`${classes.missing} sheet scroll small`}
        // A long list scrolls, so it must be reachable by keyboard.
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        tabIndex={0}
        aria-label="Addresses not in the archive"
      >
        {[...seen.keys()].map((address) => (
          <li key={address} className="wrap-anywhere">
            {address.replace(/^GET /, '')}
          </li>
        ))}
      </ul>
      <FetchMissing urls={gettable.map(({ url }) => url)} onFetched={onFetched} />
    </section>
  );
}
