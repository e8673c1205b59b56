import { IconAlertTriangle } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import { ObjectDigest } from '../../components/content/Retrieval.tsx';
import { DigestChip, Facts, TimeText } from '../../components/data/Values.tsx';
import { formatCount, formatDuration } from '../../format.ts';
import classes from './captures.module.css';
import {
  type AnyPage,
  answersOf,
  CUT_SENTENCES,
  hasNoText,
  LIMITS_HINT,
  pictureChangeWords,
} from './pageWords.ts';

/** What a person should know before they trust the picture: that it is cut, or that nothing on it can be read. */
export function PageWarnings({ page }: { page: AnyPage }) {
  const warnings: [string, ReactNode][] = [];
  if (page.reason)
    warnings.push([
      'Cut off',
      <>
        {CUT_SENTENCES[page.reason]} <Link to="/settings#collection">{LIMITS_HINT}</Link>
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
        facts={[
          ['Drawn', <TimeText key="at" at={started_at} show="exact" />],
          ['As of', 'at' in page && <TimeText key="of" at={page.at} show="exact" />],
          ['Duration', formatDuration(seconds)],
          ['Browser', `${browser.name} ${browser.version}`],
          ['Window', `${formatCount(viewport.width)} × ${formatCount(viewport.height)} pixels`],
          ['Drawn from', answersOf(requests)],
          ['Extent', page.reason ? `cut off (${page.reason})` : 'complete'],
          ['Observer', isCapture && page.observer],
          ['Change', isCapture && pictureChangeWords(page)],
          [
            'Ledger',
            isCapture && (
              <Link key="ledger" to={`/ledger#${page.ledger_entry}`}>
                entry {page.ledger_entry}
              </Link>
            ),
          ],
          ['Picture', <ObjectDigest key="picture" sha256={page.picture} label="digest of the picture" />],
          ['Text', <ObjectDigest key="text" sha256={page.text} label="digest of the text" />],
          ['Document', <ObjectDigest key="document" sha256={page.document} label="digest of the document" />],
          ['Environment', <DigestChip key="environment" digest={environment} label="environment" />],
        ]}
      />
      <p className="tiny muted">
        The environment covers the browser build, its fonts and its settings. In the same environment, the
        same bytes give the same picture.
      </p>
    </div>
  );
}
