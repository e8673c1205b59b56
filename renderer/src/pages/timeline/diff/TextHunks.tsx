import { Button } from '@mantine/core';
import { Fragment, useState } from 'react';
import type { Hunk, TextPart } from '../../../../../shared/collection/diff.ts';
import { visibleText } from '../../../../../shared/collection/visibleText.ts';
import { countOf, formatCount } from '../../../format/size.ts';
import { unchangedBefore } from './diffSummary.ts';
import classes from './TextHunks.module.css';

/** How many passages are shown at first. */
const FIRST = 40;

/** The changed passages word by word, with some context. */
export function TextHunks({ hunks }: { hunks: readonly Hunk[] }) {
  const [showsAll, setShowsAll] = useState(false);
  if (hunks.length === 0) return null;
  const shown = showsAll ? hunks : hunks.slice(0, FIRST);
  const unseen = unchangedBefore(shown);
  return (
    <>
      {/* A long diff scrolls in its own box, which must be reachable by keyboard. */}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <section className={classes.hunks} aria-label="Changed passages" tabIndex={0}>
        {shown.map((hunk, index) => (
          <Fragment key={`${hunk.from_line} ${hunk.to_line} ${index}`}>
            <p className={classes.place}>
              <span>{placeOf(hunk)}</span>
              {(unseen[index] ?? 0) > 0 && <span>{countOf(unseen[index] ?? 0, 'unchanged line')} above</span>}
            </p>
            <div className={classes.text}>
              {hunk.parts.map((part, at) => (
                // Parts have no identity, and their order is fixed.
                <Part key={at} part={part} />
              ))}
            </div>
          </Fragment>
        ))}
      </section>
      {shown.length < hunks.length && (
        <p>
          <Button variant="default" size="xs" onClick={() => setShowsAll(true)}>
            Show all {formatCount(hunks.length)} passages
          </Button>
        </p>
      )}
    </>
  );
}

function placeOf({ from_line, to_line, page }: Hunk): string {
  const line = from_line === to_line ? `Line ${from_line}` : `Line ${from_line}, now line ${to_line}`;
  return page === null ? line : `Page ${page}`;
}

function Part({ part: { op, text } }: { part: TextPart }) {
  if (op === 'added') return <ins>{visibleText(text)}</ins>;
  if (op === 'removed') return <del>{visibleText(text)}</del>;
  return <span>{text}</span>;
}
