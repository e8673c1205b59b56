import { diffWordsWithSpace } from 'diff';
import { useMemo } from 'react';
import type { ChangedField } from '../../../../../shared/archive/packComparison.ts';
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
            <TextChange before={recordText(before)} after={recordText(after)} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

function TextChange({ before, after }: { before: string; after: string }) {
  const parts = useMemo(() => diffWordsWithSpace(before, after, { timeout: COMPARE_MS }), [before, after]);
  if (!parts) {
    return (
      <>
        <del>{before}</del> <ins>{after}</ins>
      </>
    );
  }
  return parts.map(({ value, added, removed }, index) => {
    // Parts have no identity, and their order is fixed.
    if (added) return <ins key={index}>{value}</ins>;
    if (removed) return <del key={index}>{value}</del>;
    return <span key={index}>{value}</span>;
  });
}
