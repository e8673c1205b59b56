import { IconCircleCheck, IconCircleX, IconEqual } from '@tabler/icons-react';
import { SELF } from '../../../../../shared/collection/event.ts';
import { failureWords } from '../../../../../shared/collection/failureWords.ts';
import type { Retrieval } from '../../../../../shared/collection/retrieval.ts';
import { ObserverText } from '../../../components/content/retrieval/ObserverText.tsx';
import { PageLabelNote } from '../../../components/content/retrieval/PageLabelNote.tsx';
import classes from './RetrievalOutcome.module.css';

/** The outcome of one retrieval as an icon and a text. */
export function RetrievalOutcome({ retrieval }: { retrieval: Retrieval }) {
  const { status, error, page_label, observer } = retrieval;
  const Icon = error !== null ? IconCircleX : status === 304 ? IconEqual : IconCircleCheck;
  return (
    <span className={classes.outcome}>
      <span className={classes.words} data-failed={error !== null || undefined}>
        <Icon size={15} stroke={1.9} aria-hidden />
        {error !== null ? failureWords(error, status) : successText(status)}
      </span>
      {page_label && <PageLabelNote label={page_label} />}
      {observer !== SELF && <ObserverText observer={observer} />}
    </span>
  );
}

function successText(status: number | null): string {
  if (status === 304) return '304 Not Modified';
  return status === null ? 'OK' : `${status} OK`;
}
