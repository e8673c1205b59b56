import { diffArrays } from 'diff';
import { useMemo } from 'react';
import type { ChangedField } from '../../../../../shared/archive/packComparison.ts';
import { wordTokens } from '../../../../../shared/collection/wordTokens.ts';
import { PackLink } from '../PackLink.tsx';
import classes from './ComparedRecord.module.css';
import { fieldLabel, recordText } from './recordText.ts';

/** Longer comparisons are shown as a whole. */
const COMPARE_MS = 300;

/** The fields of the record that differ, word by word. */
export function ComparedRecord({ fields }: { fields: readonly ChangedField[] }) {
  if (fields.length === 0) return <p className="muted">The record is the same in both versions.</p>;
  return (
    <dl className={classes.fields}>
      {fields.map(({ field, before, after }) => (
        <div key={field}>
          <dt>{fieldLabel(field)}</dt>
          <dd>
            {field === 'supersedes' ? (
              <PackChange before={before} after={after} />
            ) : (
              <TextChange before={recordText(field, before)} after={recordText(field, after)} />
            )}
          </dd>
        </div>
      ))}
    </dl>
  );
}

function PackChange({ before, after }: Pick<ChangedField, 'before' | 'after'>) {
  return (
    <>
      {typeof before === 'string' && (
        <del>
          <PackLink id={before} />
        </del>
      )}{' '}
      {typeof after === 'string' && (
        <ins>
          <PackLink id={after} />
        </ins>
      )}
    </>
  );
}

function TextChange({ before, after }: { before: string; after: string }) {
  const parts = useMemo(
    () => diffArrays(wordTokens(before), wordTokens(after), { timeout: COMPARE_MS }),
    [before, after],
  );
  if (!parts) {
    return (
      <>
        <del>{before}</del> <ins>{after}</ins>
      </>
    );
  }
  return parts.map(({ value, added, removed }, index) => {
    // Parts have no identity, and their order is fixed.
    const text = value.join('');
    if (added) return <ins key={index}>{text}</ins>;
    if (removed) return <del key={index}>{text}</del>;
    return <span key={index}>{text}</span>;
  });
}
