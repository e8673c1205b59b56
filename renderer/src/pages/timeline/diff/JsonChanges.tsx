import { Button } from '@mantine/core';
import { useState } from 'react';
import type { JsonChange } from '../../../../../shared/collection/diff.ts';
import { formatCount } from '../../../format/size.ts';
import classes from './JsonChanges.module.css';

const FIRST = 60;

/** The changed values by JSON Pointer, before and after. */
export function JsonChanges({ changes }: { changes: readonly JsonChange[] }) {
  const [showsAll, setShowsAll] = useState(false);
  if (changes.length === 0) return null;
  const shown = showsAll ? changes : changes.slice(0, FIRST);
  return (
    <>
      {/* A long list scrolls in its own box, which must be reachable by keyboard. */}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <section className={classes.changes} aria-label="Changed values" tabIndex={0}>
        <ul>
          {shown.map((change) => (
            <li key={`${change.op} ${change.pointer} ${change.from_pointer}`}>
              <p className={classes.place}>
                <span className={classes.op}>{change.op}</span>
                {change.op === 'moved' ? (
                  <code>
                    {change.from_pointer} <span className="muted">→</span> {nameOf(change.pointer)}
                  </code>
                ) : (
                  <code>{nameOf(change.pointer)}</code>
                )}
              </p>
              <p className={classes.values}>
                {change.before && <del>{textOf(change.before)}</del>}
                {change.after && <ins>{textOf(change.after)}</ins>}
              </p>
            </li>
          ))}
        </ul>
      </section>
      {shown.length < changes.length && (
        <p>
          <Button variant="default" size="xs" onClick={() => setShowsAll(true)}>
            Show all {formatCount(changes.length)} values
          </Button>
        </p>
      )}
    </>
  );
}

/** The pointer to the whole document is the empty string. */
function nameOf(pointer: string): string {
  return pointer === '' ? '(whole document)' : pointer;
}

function textOf({ json, cut }: NonNullable<JsonChange['before']>): string {
  return cut ? `${json}…` : json;
}
