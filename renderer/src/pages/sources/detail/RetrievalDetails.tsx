import type { ReactNode } from 'react';
import { SELF } from '../../../../../shared/collection/event.ts';
import { failureHint } from '../../../../../shared/collection/failureWords.ts';
import type { Retrieval } from '../../../../../shared/collection/retrieval.ts';
import { ObjectCard } from '../../../components/content/object/ObjectCard.tsx';
import { connectionFacts } from '../../../components/content/retrieval/ConnectionFacts.tsx';
import { ObserverText } from '../../../components/content/retrieval/ObserverText.tsx';
import { PageLabelNote } from '../../../components/content/retrieval/PageLabelNote.tsx';
import { Facts } from '../../../components/data/Facts.tsx';
import { TimeText } from '../../../components/data/TimeText.tsx';
import { exactBytes, formatCount } from '../../../format/size.ts';
import { captureTime } from '../../../format/viewPath.ts';
import classes from './RetrievalDetails.module.css';
import { RetrievalOutcome } from './RetrievalOutcome.tsx';

/** All recorded details of one retrieval. */
export function RetrievalDetails({ retrieval }: { retrieval: Retrieval }) {
  const { url, final_url, redirects, headers, bytes, sha256, error, page_label } = retrieval;
  const facts: [string, ReactNode][] = [
    ['Outcome', <RetrievalOutcome key="outcome" retrieval={retrieval} />],
    ['What to do', error && failureHint(error)],
    ['Warning', page_label && <PageLabelNote key="label" label={page_label} withReason />],
    ['Observer', <ObserverText key="observer" observer={retrieval.observer} />],
    ['Retrieved by this node', <TimeText key="at" at={retrieval.observed_at} show="exact" />],
    [
      'Captured by the observer',
      retrieval.original_observed_at && (
        <TimeText key="captured" at={retrieval.original_observed_at} show="exact" />
      ),
    ],
    ['Requested URL', url],
    ['Redirects', redirects.length > 0 && <Redirects key="redirects" redirects={redirects} />],
    [error === null ? 'Final URL' : 'Failed URL', final_url !== url && final_url],
    ['Content type', retrieval.content_type],
    ['Size', bytes !== null && exactBytes(bytes)],
    ...connectionFacts(retrieval.connection),
    ['Duration', retrieval.observer === SELF && `${formatCount(retrieval.duration_ms)} ms`],
  ];
  return (
    <div className={classes.details}>
      <div className={classes.facts}>
        <Facts facts={facts} />
      </div>
      {sha256 && (
        <ObjectCard
          title="Object"
          sha256={sha256}
          // The body of an error is no version of the source.
          source={error === null ? retrieval.source : undefined}
          at={error === null ? captureTime(retrieval) : undefined}
        />
      )}
      {headers.length > 0 && <Headers headers={headers} />}
    </div>
  );
}

function Redirects({ redirects }: Pick<Retrieval, 'redirects'>) {
  return (
    <ol className={classes.redirects}>
      {redirects.map(({ url, status }) => (
        <li key={url}>
          {status} {url}
        </li>
      ))}
    </ol>
  );
}

function Headers({ headers }: Pick<Retrieval, 'headers'>) {
  const lines = headers.map(([name, value], index) => ({ key: `${index} ${name}`, name, value }));
  return (
    <section aria-label="Response headers">
      <h3 className={classes.title}>Response headers</h3>
      <dl className={classes.headers}>
        {lines.map(({ key, name, value }) => (
          <div key={key}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
